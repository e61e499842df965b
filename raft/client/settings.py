"""What a client is told about its quorum."""

from __future__ import annotations

from dataclasses import dataclass

from raft.types import Endpoint

DEFAULT_API_TIMEOUT_MS = 60_000
DEFAULT_REQUEST_TIMEOUT_MS = 5_000
DEFAULT_MAX_REQUEST_BYTES = 8 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Where the quorum is, and how long to wait for it.

    Fields:
        bootstrap_servers: nodes to ask first, one or more; the others are learnt from them.
        cluster_id: refuse a quorum with another id; None takes any.
        topic: name of the topic; None takes the only one that the quorum hosts.
        api_timeout_ms: a whole call, with all its repeats.
        request_timeout_ms: one request.
        patience_ms: when a node has not answered after this time, others are asked who leads while its answer may still
            come. A leader's answer may also take as long as the request lets it wait.
        retry_backoff_ms: pause before a repeat.
        max_request_bytes: largest record batch to append.
        client_id: stands in the nodes' logs.
    """

    bootstrap_servers: tuple[Endpoint, ...]
    cluster_id: str | None = None
    topic: str | None = None
    api_timeout_ms: int = DEFAULT_API_TIMEOUT_MS
    request_timeout_ms: int = DEFAULT_REQUEST_TIMEOUT_MS
    patience_ms: int = 500
    retry_backoff_ms: int = 50
    max_request_bytes: int = DEFAULT_MAX_REQUEST_BYTES
    client_id: str = "kraft-spark"
