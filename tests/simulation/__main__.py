"""Replays one run of the simulator, or tries many seeds.

    python -m tests.simulation --seed 7                  its story, and how it ends
    python -m tests.simulation --seeds 0-999             one line each, and what was seen
    python -m tests.simulation --seed 7 --events 2000    faults end after so many events

The exit code is 1 when an invariant broke.
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections import Counter
from collections.abc import Iterable

from tests.simulation.run import Outcome, simulate
from tests.simulation.sightings import Sight

_WHOLE_STORY = 1_000_000


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.seeds is None:
        outcome = simulate(options.seed, max_events=options.events, remembered_lines=_WHOLE_STORY)
        print("\n".join(outcome.story))
        print(outcome)
        return 1 if outcome.broken else 0
    return report_all(simulate(seed, max_events=options.events) for seed in options.seeds)


def report_all(outcomes: Iterable[Outcome]) -> int:
    """Tell of each run as it ends, then what all of them have met; return the exit code."""
    seen: Counter[Sight] = Counter()
    broken: list[int] = []
    for outcome in outcomes:
        seen += outcome.sights
        print("\n".join([*outcome.story, str(outcome)]), flush=True)
        if outcome.broken:
            broken.append(outcome.seed)
    for sight in Sight:
        print(f"{seen[sight]:>9}  {sight.value}")
    print(f"broken: {broken or 'none'}")
    return 1 if broken else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=(__doc__ or "").splitlines()[0])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="tell the story of this one")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="try all of these, from A to B")
    parser.add_argument("--events", type=int, help="end all faults after so many events at the latest")
    return parser


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


if __name__ == "__main__":
    # Recoveries warn of each torn tail: here that is daily bread.
    logging.getLogger("raft").setLevel(logging.ERROR)
    sys.exit(main())
