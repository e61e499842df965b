"""Makes metrics that are read from a node's state when they are scraped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def gauge(name: str, text: str, value: float | None) -> Metric:
    """Return a gauge without labels; without a sample where the value is None."""
    family = GaugeMetricFamily(name, text)
    if value is not None:
        family.add_metric([], float(value))
    return family


def gauges(name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    """Return a gauge with labels.

    Args:
        name: of the metric.
        text: its help text.
        labels: their names.
        values: the values of the labels, and the value.
    """
    family = GaugeMetricFamily(name, text, labels=labels)
    for each, value in values:
        family.add_metric(each, float(value))
    return family


def counter(name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    """Return a counter, whose samples end with `_total`; see `gauges`."""
    family = CounterMetricFamily(name, text, labels=labels)
    for each, value in values:
        family.add_metric(each, float(value))
    return family
