"""Ratios of measures of the same round, which depend less on a noisy machine than the measures."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from benchmarks.contest import BASELINE, OURS, Better, Comparison, Samples


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and range of the values of all rounds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the spread of one or more values."""
        return cls(median=statistics.median(values), low=min(values), high=max(values))

    @classmethod
    def of_ratios(cls, values: Sequence[float], others: Sequence[float]) -> Self:
        """Return the spread of each value divided by the other one of the same round."""
        return cls.of([value / other for value, other in zip(values, others, strict=True)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A measured line of the table.

    Fields:
        ours, peer: the measures.
        ratio: ours / peer.
        baseline_ratio: baseline / peer; None without a baseline.
        change: ours / baseline; None without a baseline.
    """

    comparison: Comparison
    ours: Spread
    peer: Spread
    ratio: Spread
    baseline_ratio: Spread | None = None
    change: Spread | None = None

    @property
    def reached(self) -> str:
        """Which bound the median ratio meets: "aim", "at least", "no"; "" if there is none."""
        comparison = self.comparison
        for name, bound in (("aim", comparison.aim), ("at least", comparison.at_least)):
            if bound is not None and keeps(self.ratio.median, bound, comparison.better):
                return name
        return "" if comparison.at_least is None else "no"


def keeps(ratio: float, bound: float, better: Better) -> bool:
    """Whether a ratio meets a bound."""
    return ratio >= bound if better is Better.HIGHER else ratio <= bound


def line_of(comparison: Comparison, samples: Mapping[str, Samples]) -> Line | None:
    """Return a line from the samples of its work by step; None if the peer was not measured.

    Raises:
        KeyError: a contestant ran and did not report the measure.
    """
    step = samples.get(comparison.step, {})
    peers = samples.get(comparison.peer_step or comparison.step, {})
    if OURS not in step or comparison.peer not in peers:
        return None
    ours = step[OURS][comparison.measure]
    peer = peers[comparison.peer][comparison.peer_measure or comparison.measure]
    baseline = step[BASELINE][comparison.measure] if BASELINE in step else None
    return Line(
        comparison=comparison,
        ours=Spread.of(ours),
        peer=Spread.of(peer),
        ratio=Spread.of_ratios(ours, peer),
        baseline_ratio=Spread.of_ratios(baseline, peer) if baseline else None,
        change=Spread.of_ratios(ours, baseline) if baseline else None,
    )
