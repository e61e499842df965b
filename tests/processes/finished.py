"""A child process that runs to its end: what it printed, and its exit code."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.hang import HANG_S
from tests.processes.commands import ROOT, TIED_TO_PARENT, child_environment

_SHOWN_CHARACTERS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The end of a process.

    Fields:
        name: identifies the process in failures.
        output, errors: standard output and standard error.
    """

    name: str
    exit_code: int
    output: str
    errors: str

    def require_success(self) -> str:
        """Return standard output.

        Raises:
            AssertionError: the exit code is not 0; shows the end of what was printed.
        """
        assert self.exit_code == 0, (
            f"{self.name} ended with {self.exit_code}: "
            f"{self.output[-_SHOWN_CHARACTERS:]}{self.errors[-_SHOWN_CHARACTERS:]}"
        )
        return self.output


def run_to_end(
    name: str,
    command: Sequence[str | bytes],
    *,
    stdin: bytes = b"",
    environment: Mapping[str, str] | None = None,
    within_s: float = HANG_S,
) -> Finished:
    """Run a command.

    Args:
        name: identifies it in failures.
        command: the program and its arguments.
        stdin: its whole standard input.
        environment: its variables; those of this process if None.
        within_s: it is killed after this time.

    Raises:
        subprocess.TimeoutExpired: it took too long; holds what it had printed by then.
    """
    done = subprocess.run(
        [*TIED_TO_PARENT, *command],
        input=stdin,
        capture_output=True,
        timeout=within_s,
        env=child_environment() if environment is None else environment,
        cwd=ROOT,
        process_group=0,
        check=False,
    )
    return Finished(
        name=name, exit_code=done.returncode, output=done.stdout.decode(), errors=done.stderr.decode(errors="replace")
    )
