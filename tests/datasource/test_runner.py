"""What is printed when Spark closes the connection to one of its Python processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import {module} as program
sys.modules["__main__"] = program
from datasource.spark_internals.runner import end_quietly
end_quietly()
{ending}
"""
DAEMON = """
try:
    raise {error}
except BaseException:
    program.traceback.print_exc()
print(program.traceback.format_exception_only(ValueError("whole module"))[0])
"""
RUNNER = "raise {error}"


@pytest.mark.parametrize(
    ("module", "ending"),
    [("pyspark.daemon", DAEMON), ("pyspark.sql.streaming.python_streaming_source_runner", RUNNER)],
    ids=["worker", "planning side"],
)
@pytest.mark.parametrize(
    ("error", "is_printed"),
    [("BrokenPipeError('closed')", False), ("ConnectionResetError('closed')", False), ("ValueError('wrong')", True)],
)
def test_only_other_errors_are_printed(module: str, ending: str, error: str, is_printed: bool) -> None:
    program = PROGRAM.format(module=module, ending=ending.format(error=error))

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ("Error: " in ended.stderr) is is_printed, ended.stderr
    if ending is DAEMON:
        assert ended.stdout == "ValueError: whole module\n\n"


def test_other_programs_keep_what_they_print_with() -> None:
    program = (
        "import sys, traceback\n"
        "from datasource.spark_internals.runner import end_quietly\n"
        "end_quietly()\n"
        "assert sys.excepthook is sys.__excepthook__\n"
        "assert vars(sys.modules['__main__'])['traceback'] is traceback\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True)
