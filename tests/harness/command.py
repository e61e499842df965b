"""The command line of a plan: it does one run, prints what it has shown, and keeps the files if something is wrong."""

from __future__ import annotations

import shlex
import shutil
import signal
import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TypeVar

from tests.harness.outcome import Outcome
from tests.harness.run import Tell

Plan = TypeVar("Plan")

_INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended."""


def parser_of(module: str, document: str | None) -> ArgumentParser:
    """Return a parser without options yet.

    Args:
        module: which Python runs.
        document: the docstring of the command; its first line is shown.
    """
    return ArgumentParser(prog=f"python -m {module}", description=(document or "").splitlines()[0])


def do_run(
    parser: ArgumentParser,
    plan_of: Callable[[Namespace], Plan],
    run: Callable[[Plan, Path, Tell], Outcome[object]],
    arguments: Sequence[str] | None,
) -> int:
    """Do what a command line asks for; return the exit code.

    If nothing is wrong, or the run is interrupted (Ctrl-C, SIGTERM), nothing is kept. Otherwise the exit code is 1,
    and the last lines say how to do the run again, and where its files are.

    Args:
        parser: has the options. An option without a value is not printed in the command for another run.
        plan_of: makes the plan from the options; a ValueError is an error of the command line.
        run: does the run in a folder.
        arguments: the command line; None for that of this process.
    """
    options = parser.parse_args(arguments)
    try:
        plan = plan_of(options)
    except ValueError as error:
        parser.error(str(error))
    name = parser.prog.rpartition(".")[2]
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-"))
    try:
        with _terminated_as_interrupted():
            outcome = run(plan, folder, partial(print, flush=True))
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        print("interrupted: all processes are killed, nothing is kept")
        return _INTERRUPTED
    if outcome.figures is not None:
        print(outcome.figures)
    print(outcome.verdict)
    if outcome.verdict.is_fine:
        print("nothing is wrong")
        shutil.rmtree(folder)
        return 0
    print(f"again: {parser.prog} {_command_line(options)}")
    print(f"the logs and the output of all processes are in {folder}")
    return 1


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that its processes are killed."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _command_line(options: Namespace) -> str:
    """Return the options, those with their defaults too."""
    words: list[str] = []
    for name, value in vars(options).items():
        option = f"--{name.replace('_', '-')}"
        match value:
            case True:
                words.append(option)
            case False | None | "":
                pass
            case float():
                words += [option, f"{value:g}"]
            case _:
                words += [option, str(value)]
    return shlex.join(words)
