"""What a node holds in memory: connections, requests that wait, budgets, writers; and the check of its log."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric

from raft.core import RaftCore
from raft.metrics.families import counter, gauge, gauges
from raft.metrics.figures import NodeFigures

_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation="


def resource_families(core: RaftCore, figures: NodeFigures) -> Iterator[Metric]:
    """Yield the metrics."""
    waiting = core.waiting
    yield gauges(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "Requests that wait: fetches that are parked until there are records (Fetch), appends until they are committed "
        f"(Produce), linearizable reads until the leader is confirmed (ReadIndex). {_PURGATORY}",
        ["delayedoperation"],
        [(["Fetch"], waiting.fetches), (["Produce"], waiting.appends), (["ReadIndex"], waiting.reads)],
    )
    yield gauges(
        "kafka_server_socket_server_metrics_connection_count",
        "Open connections, by listener and kind: of voters or of clients. "
        "kafka.server:type=socket-server-metrics,listener=,connection-count",
        ["listener", "kind"],
        [
            ([listener, "voter" if is_voter else "client"], count)
            for (listener, is_voter), count in figures.connections.items()
        ],
    )
    yield gauge(
        "kraft_outbound_connections", "Connections that this node has opened to others.", figures.outbound_connections
    )
    yield counter(
        "kraft_connections_dropped",
        "Connections that this node has closed, by cause.",
        ["cause"],
        [([cause], count) for cause, count in figures.dropped_connections.items()],
    )
    yield gauge(
        "kafka_network_socketserver_memorypoolused",
        "Bytes of appends without a response, of queued.max.request.bytes. "
        "kafka.network:type=SocketServer,name=MemoryPoolUsed",
        figures.requests.used_bytes,
    )
    yield gauge(
        "kafka_network_socketserver_memorypoolavailable",
        "Bytes of queued.max.request.bytes that are free. kafka.network:type=SocketServer,name=MemoryPoolAvailable",
        figures.requests.limit_bytes - figures.requests.used_bytes,
    )
    others = {"responses": figures.responses, "large-frames": figures.large_frames}
    yield gauges(
        "kraft_budget_used_bytes",
        "Bytes in memory: of responses that are not read yet, and of large requests that are being received.",
        ["budget"],
        [([name], budget.used_bytes) for name, budget in others.items()],
    )
    yield gauges(
        "kraft_budget_limit_bytes",
        "Limit of kraft_budget_used_bytes.",
        ["budget"],
        [([name], budget.limit_bytes) for name, budget in others.items()],
    )
    writers = core.writers.counts
    yield gauges(
        "kraft_writers",
        "Writers that are remembered: producers of Kafka's protocol, writes of one version, streams.",
        ["kind"],
        [
            (["producer"], writers.producers),
            (["one-off"], writers.one_off_writers),
            (["stream"], writers.streams),
        ],
    )
    yield gauge(
        "kraft_open_transactions",
        "Transactions and parts of writes that are open.",
        len(core.transactions.transactions),
    )
    yield gauge(
        "kraft_scrub_checked_bytes",
        "Bytes of the log that the background check has read in its present pass; 0 between two passes.",
        figures.scrub.checked_bytes,
    )
    yield counter(
        "kraft_scrub_passes", "Passes of the background check through the whole log.", [], [([], figures.scrub.passes)]
    )
    yield gauge(
        "kraft_scrub_damaged_files",
        "Files of the log in which the background check has found damage; the node's log names them.",
        len(figures.scrub.damage),
    )
