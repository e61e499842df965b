"""What a node holds in memory: connections, requests that wait, budgets, writers; and the check of its log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import Metric

from raft.core import RaftCore
from raft.metrics.families import counter, gauge, gauges
from raft.metrics.figures import NodeFigures

_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation="


def resource_families(core: RaftCore, figures: NodeFigures, longest_steps_s: Mapping[str, float]) -> Iterator[Metric]:
    """Yield the metrics.

    Args:
        core: of the node.
        figures: of the node.
        longest_steps_s: see `Heartbeat.longest_steps_s`.
    """
    yield gauges(
        "kraft_event_loop_longest_step_seconds",
        "Longest step of the event loop in the last minute, by elapsed time and by processor time of its thread. "
        "Everything else waits for the end of a step.",
        ["time"],
        [([kind], longest_s) for kind, longest_s in longest_steps_s.items()],
    )
    yield from _waiting_and_connected(core, figures)
    yield from _budgets(figures)
    yield from _tables(core)
    yield from _damage(figures)


def _waiting_and_connected(core: RaftCore, figures: NodeFigures) -> Iterator[Metric]:
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


def _budgets(figures: NodeFigures) -> Iterator[Metric]:
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


def _tables(core: RaftCore) -> Iterator[Metric]:
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
    yield counter(
        "kraft_truncated_records",
        "Records that this node has removed from the end of its log, because its leader does not have them.",
        [],
        [([], core.truncated_records)],
    )


def _damage(figures: NodeFigures) -> Iterator[Metric]:
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
        "Files of the log in which the background check or a read has found damage; the node's log names them.",
        len({part.path for part in figures.damage.parts}),
    )
    yield gauge(
        "kraft_damaged_ranges",
        "Ranges of offsets that this node cannot read, because bytes on its disk are damaged.",
        len(figures.damage.parts),
    )
    yield gauge(
        "kraft_damaged_bytes",
        "Bytes of the files of the log that are damaged, or belong to a damaged batch, index or snapshot.",
        sum(part.size_bytes for part in figures.damage.parts),
    )
    yield counter(
        "kraft_repaired_ranges",
        "Damaged ranges that this node has replaced by what its leader has.",
        [],
        [([], figures.damage.repaired_ranges)],
    )
    yield counter(
        "kraft_repaired_bytes",
        "Bytes that this node has written in the place of damaged ones.",
        [],
        [([], figures.damage.repaired_bytes)],
    )
