"""Three real nodes, honest clients that append, and a hostile neighbour that attacks the nodes in every known way.

    python -m tests.hostile --seconds 20 --seed 1
    python -m tests.hostile --attacks MutatedRecordings,TimeSearches
    python -m tests.hostile --neighbour stranger --attacks HalfHandshakes

With `--neighbour stranger` clients need TLS and SCRAM, and voters certificates, and the neighbour has neither. With
`--neighbour client` it has both, and may read and append as the honest clients do; with `--neighbour observer` it may
speak as an observer too.

If an append was lost, doubled or misplaced, an election was held, a node used too much memory or logged an error, or
appends became too slow, it keeps the logs and the output of the nodes, and exits with code 1. The 99th percentile of
appends is judged only if the machine has a processor for each process that is busy.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.hostile.attacks.every import attacks_of
from tests.hostile.identity import Identity
from tests.hostile.run import Plan, run
from tests.hostile.verdict import BUSY_PROCESSES, late


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    attacks = [name for name in options.attacks.split(",") if name]
    plan = Plan(
        seed=options.seed,
        duration_s=options.seconds,
        clients=options.clients,
        identity=Identity(options.neighbour),
        attacks=attacks,
    )
    outcome = run(plan, folder)
    processors = os.cpu_count() or 1
    wrong = [*outcome.wrong, *late(outcome, processors=processors)]
    print(outcome)
    if processors < BUSY_PROCESSES:
        print(f"the p99 is not judged: {processors} processors for {BUSY_PROCESSES} busy processes")
    print(*(wrong or ["nothing is wrong"]), sep="\n")
    if not wrong:
        shutil.rmtree(folder)
        return 0
    print(
        f"again: python -m tests.hostile --seconds {options.seconds:g} --seed {options.seed} "
        f"--neighbour {options.neighbour}"
    )
    print(f"the logs and the output of the nodes are in {folder}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=20, help="length of each of the two phases (20)")
    parser.add_argument("--seed", type=int, default=1, help="decides what the neighbour sends (1)")
    parser.add_argument("--clients", type=int, default=4, help="how many honest clients append (4)")
    identities = [identity.value for identity in Identity]
    parser.add_argument("--neighbour", choices=identities, default="anyone", help="who the neighbour is (anyone)")
    every = ", ".join({name: None for identity in Identity for name in attacks_of(identity)})
    parser.add_argument("--attacks", default="", help=f"only these, separated by commas: {every}")
    return parser


if __name__ == "__main__":
    sys.exit(main())
