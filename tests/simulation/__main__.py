"""Replays one run of the simulator, runs many seeds, or checks that planted bugs are found.

    python -m tests.simulation --seed 7                  the log of one run, and its outcome
    python -m tests.simulation --seeds 0-999             one line for each run, then counts of faults and marks
    python -m tests.simulation --seed 7 --events 2000    the same, with a fault phase of at most so many events
    python -m tests.simulation --mutations               which invariant catches which planted bug, with which seed
    python -m tests.simulation --mutations --write-seeds the same; the seeds are stored for the tests

The exit code is 1 when an invariant broke, or a planted bug was not caught.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.simulation.faults.kinds import NOT_TOLERATED, Fault
from tests.simulation.fixed_seeds import FIXED_SEEDS
from tests.simulation.marks import NOT_TOLERATED_MARKS, Mark
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.hunt import Catch, hunt
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.seeds_file import SEEDS_FILE, seeds_module
from tests.simulation.mutations.table import table_of
from tests.simulation.run import Outcome, simulate

_ALL_LINES = 1_000_000


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.mutations:
        return report_hunts(MUTATIONS, FIXED_SEEDS, writes_seeds=options.write_seeds)
    if options.seeds is not None:
        return report_all(simulate(seed, max_events=options.events) for seed in options.seeds)
    outcome = simulate(options.seed, max_events=options.events, max_log_lines=_ALL_LINES)
    print("\n".join(outcome.log_lines))
    print(outcome)
    return 1 if outcome.broken else 0


def report_all(outcomes: Iterable[Outcome]) -> int:
    """Print each run as it ends, then the faults and marks of all of them; return the exit code."""
    seen: Counter[Mark] = Counter()
    struck: Counter[Fault] = Counter()
    broken: list[int] = []
    for outcome in outcomes:
        seen += outcome.marks
        struck += outcome.strikes
        print("\n".join([*outcome.log_lines, str(outcome)]), flush=True)
        if outcome.broken:
            broken.append(outcome.seed)
    for fault in Fault:
        if fault not in NOT_TOLERATED:
            print(f"{struck[fault]:>9}  strikes: {fault.value}")
    for mark in Mark:
        if mark not in NOT_TOLERATED_MARKS:
            print(f"{seen[mark]:>9}  {mark.value}")
    print(f"broken: {broken or 'none'}")
    return 1 if broken else 0


def report_hunts(mutations: Sequence[Mutation], seeds: Sequence[int], *, writes_seeds: bool = False) -> int:
    """Search for each planted bug, then print what caught them; return the exit code.

    Args:
        mutations: the bugs.
        seeds: the seeds to try for each.
        writes_seeds: whether to store which seed caught which bug.
    """
    hunts = [(mutation, hunt(mutation, seeds)) for mutation in mutations]
    catches: list[Catch] = [caught for _, caught in hunts if caught is not None]
    missed = [mutation.name for mutation, caught in hunts if caught is None]
    print("\n".join(table_of([caught.row for caught in catches])))
    print(f"not caught: {missed or 'none'}")
    if writes_seeds:
        SEEDS_FILE.write_text(seeds_module({caught.mutation.name: caught.seed for caught in catches}))
    return 1 if missed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="print the log of this seed")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="run the seeds from A to B")
    which.add_argument("--mutations", action="store_true", help="plant known bugs, and check that they are found")
    parser.add_argument("--write-seeds", action="store_true", help="with --mutations: store the seeds that caught them")
    parser.add_argument("--events", type=int, help="end the fault phase after so many events at the latest")
    return parser


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    # Nodes log every fault that stops them, and here that happens all the time.
    logging.getLogger("raft").setLevel(logging.CRITICAL)
    sys.exit(main())
