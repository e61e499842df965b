"""The same history judged by Porcupine, a checker of linearizability that shares no code with this project.

Its program is `tests/porcupine`. Without Go, or without a network on the first run, the soak says so and goes on.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.workload import checks
from tests.workload.history import History
from tests.workload.linearizable import TimedAppend, TimedRead
from tests.workload.timed_operations import save_operations, timed_appends, timed_reads
from tests.workload.visible_log import VisibleLog

SOURCE = Path(__file__).parent.parent / "porcupine"

_OPERATIONS = "operations.jsonl"
_BUILD_S = 300
_JUDGE_S = 300
_MAX_OPERATIONS = 10_000
"""Porcupine remembers for each step which operations it has placed, so its memory grows with the square of the number.
"""


def judged_by_porcupine(history: History, visible: VisibleLog, folder: Path, tell: Callable[[str], None]) -> list[str]:
    """Let Porcupine judge a history; return what is wrong with it.

    Args:
        history: what clients saw.
        visible: the log of the run.
        folder: gets the operations, a line of JSON for each, and the program.
        tell: gets a line with the judgement, or with the reason why there is none.
    """
    appends = [*timed_appends(checks.writes_of(history.all_appends), visible.records)]
    operations = some_of(appends, [*timed_reads(history.reads, visible.transactions)])
    save_operations(folder / _OPERATIONS, operations)
    if shutil.which("go") is None:
        tell("Porcupine does not judge the history: this machine has no Go")
        return []
    program = folder / "porcupine"
    built = _run(["go", "build", "-buildvcs=false", "-o", str(program), "."], cwd=SOURCE, timeout_s=_BUILD_S)
    if built.returncode:
        tell(f"Porcupine does not judge the history, because it cannot be built: {built.stderr.strip()}")
        return []
    judged = _run([str(program), str(folder / _OPERATIONS)], cwd=folder, timeout_s=_JUDGE_S)
    program.unlink()
    judgement = f"Porcupine: {(judged.stdout or judged.stderr).strip()}"
    tell(judgement)
    return [judgement] if judged.returncode else []


def some_of(appends: Sequence[TimedAppend], reads: Sequence[TimedRead]) -> list[TimedAppend | TimedRead]:
    """Return all reads, and of the appends so many as Porcupine can judge, evenly spread over the log.

    A history that is linearizable still is without some of its appends.
    """
    room = max(_MAX_OPERATIONS - len(reads), 1)
    every = -(-len(appends) // room)
    ordered = sorted(appends, key=lambda append: append.start_offset)
    return [*ordered[:: max(every, 1)], *reads]


def _run(command: Sequence[str], *, cwd: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=timeout_s)
