"""Who was let in: authentications, requests that the rules refused, and when the certificates expire."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from raft.metrics.families import counter, gauges
from raft.metrics.figures import NodeFigures
from raft.security.operations import Operation
from raft.security.outcomes import AuthenticationOutcome

_MEANINGS = {
    AuthenticationOutcome.SUCCESSFUL: "Clients that have proved their name, by SASL or by a certificate",
    AuthenticationOutcome.FAILED: "Clients that have not proved their name, and handshakes of TLS that have failed",
    AuthenticationOutcome.SUCCESSFUL_AGAIN: "Clients that have proved their name again, on the same connection",
    AuthenticationOutcome.FAILED_AGAIN: "Clients that have not proved their name again",
    AuthenticationOutcome.EXPIRED: (
        "Connections that were closed because their client has not proved its name again in time"
    ),
}


def security_families(figures: NodeFigures) -> Iterator[Metric]:
    """Yield the metrics."""
    for outcome, meaning in _MEANINGS.items():
        counts = {listener: count for (listener, ended), count in figures.authentications.items() if ended is outcome}
        yield counter(
            f"kafka_server_socket_server_metrics_{outcome.value.replace('-', '_')}",
            f"{meaning}, by listener. kafka.server:type=socket-server-metrics,listener=,{_kafka_name(outcome)}",
            ["listener"],
            [([listener], count) for listener, count in counts.items()],
        )
    yield counter(
        "kraft_authorization_refused",
        "Requests that their sender may not send, or not on this listener, by operation.",
        ["operation"],
        [([operation.value], figures.unauthorized.get(operation, 0)) for operation in Operation],
    )
    yield gauges(
        "kraft_certificate_expiry_timestamp_seconds",
        "When the certificate of a listener expires, in seconds since 1970.",
        ["listener"],
        [([listener], expires_at.timestamp()) for listener, expires_at in figures.certificates.items()],
    )
    yield gauges(
        "kraft_security_files_outdated",
        "Listeners whose files have changed but cannot be used, so that what was read before stays in use, by content.",
        ["content"],
        [([content], count) for content, count in figures.outdated.items()],
    )


def _kafka_name(outcome: AuthenticationOutcome) -> str:
    return f"{outcome.value}-{'count' if outcome is AuthenticationOutcome.EXPIRED else 'total'}"
