"""Three real nodes, honest clients that append, and a neighbour who attacks them by every means known here.

    python -m tests.hostile --seconds 20 --seed 1
    python -m tests.hostile --attacks MutatedRecordings,TimeSearches

The exit code is 1 when an append was lost, doubled or misplaced, an election happened, a node took too much memory or
logged an error, or appends became too slow: then everything that the nodes wrote and said is kept.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.hostile.attacks.every import ATTACKS
from tests.hostile.run import Plan, run
from tests.hostile.verdict import late


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    attacks = [name for name in options.attacks.split(",") if name]
    plan = Plan(seed=options.seed, duration_s=options.seconds, clients=options.clients, attacks=attacks)
    outcome = run(plan, folder)
    wrong = [*outcome.wrong, *late(outcome)]
    print(outcome)
    print(*(wrong or ["nothing is wrong"]), sep="\n")
    if not wrong:
        shutil.rmtree(folder)
        return 0
    print(f"again: python -m tests.hostile --seconds {options.seconds:g} --seed {options.seed}")
    print(f"what the nodes wrote and said is in {folder}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="how long each of the two phases is (20)")
    parser.add_argument("--seed", type=int, default=1, help="another one attacks otherwise (1)")
    parser.add_argument("--clients", type=int, default=4, help="how many append (4)")
    parser.add_argument("--attacks", default="", help=f"only these, with commas between: {', '.join(ATTACKS)}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
