"""Three real nodes under faults, with many clients, whose histories are checked.

    python -m tests.soak --minutes 10 --seed 7

A line tells of each fault, a table at the end how much was done. The exit code is 1 when something was lost or doubled,
or another invariant broke: then the story says what, and everything that the nodes wrote and said is kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.soak.run import Plan, run


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    plan = Plan(seed=options.seed, duration_s=60 * options.minutes, writers=options.clients)
    outcome = run(plan, folder, partial(print, flush=True))
    print(outcome.figures)
    print(outcome.verdict)
    if outcome.verdict.is_fine:
        shutil.rmtree(folder)
        return 0
    print(
        f"again: python -m tests.soak --minutes {options.minutes:g} --seed {options.seed} --clients {options.clients}"
    )
    print(f"what the nodes wrote and said, the story and the history are in {folder}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long there are faults (10)")
    parser.add_argument("--seed", type=int, default=1, help="another one brings other faults (1)")
    parser.add_argument("--clients", type=int, default=10, help="how many write (10)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
