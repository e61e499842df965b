"""Exactly once under fire: rows are copied from one quorum into another while every process is struck.

    python -m tests.fire --faults 40 --seed 7

A streaming query on a standalone cluster copies what a feeder appends. Meanwhile executors, workers, driver, leaders
and all voters are killed, suspended and cut off. It prints a line for each fault, and figures of the run at the end.

With an odd seed both quorums are secured, and the query, the feeder and the readers use SCRAM over TLS.

If a row is lost or doubled, or a reader sees other rows than the log has, it prints which, keeps the logs and the
output of all processes, and exits with code 1. If it is interrupted (Ctrl-C, SIGTERM), it keeps nothing.

With --planted-bug the sink has a bug. One has other keys for its writes in each run of the driver, and the run finds
doubled rows. In the other one repeated tasks write nothing, and the run finds lost rows:

    python -m tests.fire --planted-bug doubles --only "driver killed at an append" --faults 3
    python -m tests.fire --planted-bug loses --only "executor killed at a part" --faults 3
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from tests.fire.faults import FAULTS
from tests.fire.planted import PLANTED
from tests.fire.run import FORMAT, Plan, run

_INTERRUPTED = 130
"""The exit code of a command that Ctrl-C has ended."""


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    kinds = tuple(kind for kind in FAULTS if options.only in kind)
    if not kinds:
        parser.error(f"--only {options.only}: expected a part of one of: {', '.join(FAULTS)}")
    folder = Path(tempfile.mkdtemp(prefix="fire-"))
    sink_format = PLANTED[options.planted_bug].name() if options.planted_bug else FORMAT
    plan = Plan(faults=options.faults, seed=options.seed, kinds=kinds, sink_format=sink_format)
    try:
        with _terminated_as_interrupted():
            outcome = run(plan, folder, partial(print, flush=True))
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        print("interrupted: all processes are killed, nothing is kept")
        return _INTERRUPTED
    print(outcome.figures)
    print(outcome.verdict)
    if outcome.verdict.is_fine:
        shutil.rmtree(folder)
        return 0
    print(f"again: python -m tests.fire {shlex.join(sys.argv[1:] if arguments is None else arguments)}")
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fire", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--faults", type=int, default=40, help="how many faults strike (40)")
    parser.add_argument("--seed", type=int, default=1, help="decides which faults come in which order (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names have this text (all)")
    parser.add_argument("--planted-bug", choices=PLANTED, help="take a sink that doubles rows, or one that loses rows")
    return parser


if __name__ == "__main__":
    sys.exit(main())
