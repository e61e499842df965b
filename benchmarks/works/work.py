"""A work: some lines of the table, and the steps that measure them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.contest import Comparison, Step
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A work.

    Fields:
        name: for the command line.
        services: what it takes from the stage.
        rounds: how many count.
        comparisons: its lines.
        steps: prepares everything and returns what is then run in rounds; none where a peer is missing without which
            there is nothing to compare.
        warms_up: whether a full run makes one round before those that count: not where servers start anew each time.
    """

    name: str
    services: frozenset[Service]
    rounds: Callable[[Sizes], int]
    comparisons: Callable[[Sizes], Sequence[Comparison]]
    steps: Callable[[Stage], Sequence[Step]]
    warms_up: bool = True


def in_millions(rows: int) -> str:
    """Return a number of rows in words: 2.5 M, or 20,000."""
    return f"{rows / 1e6:g} M" if rows >= 1_000_000 else f"{rows:,}"
