"""The command `kraft`, run to its end."""

from __future__ import annotations

import json
from typing import Any

from tests.processes.commands import KRAFT, child_environment
from tests.processes.finished import Finished, run_to_end
from tests.processes.piped_process import PipedProcess

_COLUMNS = "200"
"""Wide enough that no line of help is broken."""


def kraft(*arguments: str | bytes, stdin: bytes = b"", **environment: str) -> Finished:
    """Run `kraft` to its end.

    Args:
        arguments: of the command.
        stdin: its whole standard input.
        environment: variables that differ from those of this process.
    """
    variables = child_environment(COLUMNS=_COLUMNS, **environment)
    return run_to_end("kraft", [*KRAFT, *arguments], stdin=stdin, environment=variables)


def kraft_json(*arguments: str) -> list[Any]:
    """Run `kraft ... --json`; return the values that it prints, one from each line."""
    return [json.loads(line) for line in kraft(*arguments, "--json").require_success().splitlines()]


def start_kraft(*arguments: str, **environment: str) -> PipedProcess:
    """Start `kraft`, to be written to and read from while it runs.

    Args:
        arguments: of the command.
        environment: variables that differ from those of this process.
    """
    return PipedProcess("kraft", [*KRAFT, *arguments], environment=child_environment(COLUMNS=_COLUMNS, **environment))
