"""Which clients were throttled because they have used more than their quotas."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from raft.metrics.families import counter
from raft.metrics.figures import NodeFigures

_LABELS = ["quota", "user", "client_id"]


def quota_families(figures: NodeFigures) -> Iterator[Metric]:
    """Yield the metrics."""
    throttled = [
        ([kind.value, user or "", client_id or ""], counts)
        for (kind, (user, client_id)), counts in figures.throttled.items()
    ]
    yield counter(
        "kraft_client_throttled_responses",
        "Responses that told a client to wait, by the quota that it had exceeded.",
        _LABELS,
        [(labels, counts.count) for labels, counts in throttled],
    )
    yield counter(
        "kraft_client_throttle_time_seconds",
        "For how long clients were told to wait, in all. "
        "kafka.server:type={Produce|Fetch|Request},user=,client-id=,throttle-time is an average of it.",
        _LABELS,
        [(labels, counts.seconds) for labels, counts in throttled],
    )
