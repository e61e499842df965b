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
        name: the name on the command line.
        services: those of the stage that it needs.
        rounds: how many rounds count.
        comparisons: its lines of the table.
        steps: prepares everything and returns the steps that run in rounds; none if all peers are missing.
        warms_up: whether a full run has a round before those that count; not if servers start in each round.
    """

    name: str
    services: frozenset[Service]
    rounds: Callable[[Sizes], int]
    comparisons: Callable[[Sizes], Sequence[Comparison]]
    steps: Callable[[Stage], Sequence[Step]]
    warms_up: bool = True


def in_millions(rows: int) -> str:
    """Return a number of rows as text: 2.5 M, or 20,000."""
    return f"{rows / 1e6:g} M" if rows >= 1_000_000 else f"{rows:,}"
