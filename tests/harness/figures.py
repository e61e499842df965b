"""Figures of a run: how they are printed, and those that every run with faults has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from tests.harness.run import EndedFault


def table(rows: Iterable[tuple[object, object]], *, width: int = 10) -> str:
    """Return a line for each row, with its first column aligned to the right."""
    return "\n".join(f"{first!s:>{width}}  {second}" for first, second in rows)


def fault_counts(ended: Sequence[EndedFault]) -> Mapping[str, int]:
    """Return how many faults of each kind there were, in the order of their names."""
    return dict(sorted(Counter(fault.kind for fault in ended).items()))


def rows_of_faults(faults: Mapping[str, int]) -> list[tuple[object, object]]:
    """Return the rows for the kinds of faults."""
    return [(count, f"  {kind}") for kind, count in faults.items()]


def slowest_recovery_s(ended: Sequence[EndedFault]) -> float:
    """Return the longest time from the end of a fault until clients made progress again, in seconds."""
    return max((fault.recovery_s or 0.0 for fault in ended), default=0.0)
