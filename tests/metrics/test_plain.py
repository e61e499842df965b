"""Histograms and counters without a lock are collected like those of prometheus-client."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest

from raft.metrics.plain import Counters, Histograms


def text_of(registry: CollectorRegistry) -> str:
    lines = generate_latest(registry).decode().splitlines(keepends=True)
    return "".join(line for line in lines if "_created" not in line)


@pytest.mark.parametrize("values", [[], [0.0], [1.0, 1.5, 2.5, 100.0]], ids=["none", "one", "on and between bounds"])
def test_histogram_is_like_that_of_the_library(values: list[float]) -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    plain = Histograms("kraft_sizes", "Sizes.", (1, 2.5, 10), "kind")
    ours.register(plain)
    histogram = Histogram("kraft_sizes", "Sizes.", ["kind"], buckets=(1, 2.5, 10), registry=theirs)

    for kind in ("a", "b"):
        plain.of(kind)
        histogram.labels(kind)
        for value in values:
            plain.of(kind).observe(value)
            histogram.labels(kind).observe(value)

    assert text_of(ours) == text_of(theirs)


def test_counter_is_like_that_of_the_library() -> None:
    ours, theirs = CollectorRegistry(), CollectorRegistry()
    plain = Counters("kraft_things", "Things.", ["kind"])
    ours.register(plain)
    counter = Counter("kraft_things", "Things.", ["kind"], registry=theirs)

    for kind, amount in (("a", 1), ("b", 5), ("a", 2)):
        plain.of(kind).inc(amount)
        counter.labels(kind).inc(amount)

    assert text_of(ours) == text_of(theirs)
