"""Histograms and counters that cost little: they are written by one thread, so they need no lock.

Those of prometheus-client take a lock for each value, and several times as long. They are also collected like these.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from math import inf, isinf

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector


class PlainCounter:
    """A number that grows."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def inc(self, amount: int = 1) -> None:
        """Add to the number."""
        self.value += amount


class PlainHistogram:
    """Values by size.

    Args:
        bounds: the upper bounds of the buckets, in order; a last bucket has none.
    """

    __slots__ = ("_bounds", "_counts", "_total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._total = 0.0

    def observe(self, value: float) -> None:
        """Add a value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self._total += value

    def buckets(self) -> tuple[list[tuple[str, float]], float]:
        """Return how many values are not above each bound, and the sum of all values."""
        found, count = [], 0
        for bound, here in zip((*self._bounds, inf), self._counts, strict=True):
            count += here
            found.append(("+Inf" if isinf(bound) else str(float(bound)), float(count)))
        return found, self._total


class Histograms(Collector):
    """A histogram for each value of a label, or one without a label.

    Args:
        name, text: of the metric.
        bounds: see `PlainHistogram`.
        label: its name; None for none.
    """

    def __init__(self, name: str, text: str, bounds: Sequence[float], label: str | None = None) -> None:
        self._name = name
        self._text = text
        self._bounds = bounds
        self._label = label
        self._by_label: dict[str, PlainHistogram] = {}

    def of(self, value: str = "") -> PlainHistogram:
        """Return the histogram for a value of the label."""
        found = self._by_label.get(value)
        if found is None:
            found = self._by_label[value] = PlainHistogram(self._bounds)
        return found

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        family = HistogramMetricFamily(self._name, self._text, labels=[self._label] if self._label else [])
        for value, histogram in list(self._by_label.items()):
            buckets, total = histogram.buckets()
            family.add_metric([value] if self._label else [], buckets, total)
        yield family


class Counters(Collector):
    """A counter for each combination of the values of some labels.

    Args:
        name, text: of the metric, without `_total`.
        labels: their names.
    """

    def __init__(self, name: str, text: str, labels: Sequence[str] = ()) -> None:
        self._name = name
        self._text = text
        self._labels = labels
        self._by_labels: dict[tuple[str, ...], PlainCounter] = {}

    def of(self, *values: str) -> PlainCounter:
        """Return the counter for some values of the labels."""
        found = self._by_labels.get(values)
        if found is None:
            found = self._by_labels[values] = PlainCounter()
        return found

    def collect(self) -> Iterator[Metric]:
        """Yield the metric."""
        family = CounterMetricFamily(self._name, self._text, labels=self._labels)
        for values, counter in list(self._by_labels.items()):
            family.add_metric(values, counter.value)
        yield family
