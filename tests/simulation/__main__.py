"""Replays one run of the simulator, runs many seeds, or checks that planted bugs are found.

    python -m tests.simulation --seed 7                  the log of one run, and its outcome
    python -m tests.simulation --seeds 0-999             one line for each run, then counts of faults and marks
    python -m tests.simulation --seed 7 --events 2000    the same, with a fault phase of at most so many events
    python -m tests.simulation --mutations               which invariant catches which planted bug, with which seed
    python -m tests.simulation --mutations --write-seeds the same; the seeds are stored for the tests
    python -m tests.simulation --seeds 0-999 --jobs 2    the same in two processes; also with --mutations

The exit code is 1 when an invariant broke, or a planted bug was not caught.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple, TypeVar

from tests.simulation.broken import BrokenInvariantError
from tests.simulation.faults.kinds import NOT_TOLERATED, Fault
from tests.simulation.marks import NOT_TOLERATED_MARKS, Interruption, Mark
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.hunt import HUNTED_SEEDS, Catch, hunt
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.seeds_file import SEEDS_FILE, seeds_module
from tests.simulation.mutations.table import table_of
from tests.simulation.run import Outcome, simulate

_ALL_LINES = 1_000_000

Given = TypeVar("Given")
Found = TypeVar("Found")


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.mutations:
        return report_hunts(MUTATIONS, HUNTED_SEEDS, jobs=options.jobs, writes_seeds=options.write_seeds)
    if options.seeds is not None:
        return report_all(_map(partial(simulate, max_events=options.events), options.seeds, options.jobs))
    outcome = simulate(options.seed, max_events=options.events, max_log_lines=_ALL_LINES)
    print("\n".join(outcome.log_lines))
    print(outcome)
    return 1 if outcome.broken else 0


def report_all(outcomes: Iterable[Outcome]) -> int:
    """Print each run as it ends, then the faults, marks and interruptions of all of them, with the first seed of each.

    Returns:
        The exit code.
    """
    seen: Counter[Mark] = Counter()
    struck: Counter[Fault] = Counter()
    broken: list[int] = []
    first: dict[Mark | Interruption, int] = {}
    for outcome in outcomes:
        for mark in outcome.marks:
            first.setdefault(mark, outcome.seed)
        for interruption in outcome.interruptions:
            first.setdefault(interruption, outcome.seed)
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
            print(f"{seen[mark]:>9}  {mark.value}{_first_seed(first.get(mark))}")
    for interruption in sorted(key for key in first if isinstance(key, Interruption)):
        print(f"{'':>9}  {interruption.end} in place of {interruption.instead_of}{_first_seed(first[interruption])}")
    print(f"broken: {broken or 'none'}")
    return 1 if broken else 0


def _first_seed(seed: int | None) -> str:
    return "" if seed is None else f" [seed {seed}]"


def report_hunts(
    mutations: Sequence[Mutation], seeds: Sequence[int], *, jobs: int = 1, writes_seeds: bool = False
) -> int:
    """Search for each planted bug, and print a line for each to stderr; then print what caught them.

    Args:
        mutations: the bugs. Several processes find them in the catalogue by their names.
        seeds: the seeds to try for each.
        jobs: number of processes.
        writes_seeds: whether to store which seed caught which bug.

    Returns:
        The exit code.
    """
    if jobs == 1:
        hunts: Iterator[_Hunted] = map(partial(_hunted, seeds), mutations)
    else:
        hunts = _map(partial(_hunted_by_name, seeds), [mutation.name for mutation in mutations], jobs)
    catches: list[Catch] = []
    missed: list[str] = []
    for mutation, hunted in zip(mutations, hunts, strict=True):
        print(f"{hunted.duration_s:6.1f} s  {mutation.name}", file=sys.stderr)
        if hunted.broken is None:
            missed.append(mutation.name)
        else:
            catches.append(Catch(mutation=mutation, seed=hunted.seed, broken=hunted.broken))
    print("\n".join(table_of([caught.row for caught in catches])))
    unexpected = [caught.mutation.name for caught in catches if not caught.is_by_expected_invariant]
    print(f"caught by another invariant than expected: {unexpected or 'none'}")
    print(f"not caught: {missed or 'none'}")
    if writes_seeds:
        SEEDS_FILE.write_text(seeds_module({caught.mutation.name: caught.seed for caught in catches}))
    return 1 if missed or unexpected else 0


class _Hunted(NamedTuple):
    """The result of a search, which another process can send: a mutation cannot be sent."""

    seed: int
    broken: BrokenInvariantError | None
    duration_s: float


def _hunted(seeds: Sequence[int], mutation: Mutation) -> _Hunted:
    began_s = time.monotonic()
    caught = hunt(mutation, seeds)
    duration_s = time.monotonic() - began_s
    return _Hunted(-1, None, duration_s) if caught is None else _Hunted(caught.seed, caught.broken, duration_s)


def _hunted_by_name(seeds: Sequence[int], name: str) -> _Hunted:
    (mutation,) = (each for each in MUTATIONS if each.name == name)
    return _hunted(seeds, mutation)


def _map(work: Callable[[Given], Found], given: Iterable[Given], jobs: int) -> Iterator[Found]:
    """Yield the results in order, from so many processes."""
    if jobs == 1:
        yield from map(work, given)
        return
    with ProcessPoolExecutor(jobs, initializer=_be_quiet) as processes:
        yield from processes.map(work, given)


def _be_quiet() -> None:
    """Nodes log every fault that stops them, and here that happens all the time."""
    for name in ("raft", "tests.simulation"):
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="print the log of this seed")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="run the seeds from A to B")
    which.add_argument("--mutations", action="store_true", help="plant known bugs, and check that they are found")
    parser.add_argument("--write-seeds", action="store_true", help="with --mutations: store the seeds that caught them")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--events", type=int, help="end the fault phase after so many events at the latest")
    return parser


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    _be_quiet()
    sys.exit(main())
