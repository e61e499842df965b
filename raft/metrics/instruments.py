"""The histograms and counters of a node. All other metrics are read from its state when they are scraped."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry

from raft.metrics.plain import Counters, Histograms, PlainCounter

_MILLISECONDS = (0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
_SECONDS = (0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_LONG_SECONDS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800)

_REQUEST = "kafka.network:type=RequestMetrics"
_TOPIC = "kafka.server:type=BrokerTopicMetrics"


class Instruments:
    """The histograms and counters.

    Args:
        registry: of the node.
        topic: its topic.
    """

    def __init__(self, registry: CollectorRegistry, topic: str) -> None:
        self._registry = registry
        self._topic = topic
        self.request_ms = self._histograms(
            "kafka_network_requestmetrics_totaltimems",
            "Milliseconds from the receipt of a request to its response, waiting included. Appends are Produce, "
            f"fetches FetchConsumer and FetchFollower. {_REQUEST},name=TotalTimeMs,request=",
            _MILLISECONDS,
            "request",
        )
        self.errors = self._counters(
            "kafka_network_requestmetrics_errors",
            "Error codes in responses: requests that were refused, by cause. "
            f"{_REQUEST},name=ErrorsPerSec,request=,error=",
            ["request", "error"],
        )
        self.flush_ms = self._histograms(
            "kafka_log_logflushstats_logflushrateandtimems",
            "Milliseconds that a flush of the log takes. kafka.log:type=LogFlushStats,name=LogFlushRateAndTimeMs",
            _MILLISECONDS,
        ).of()
        self.commit_s = self._histograms(
            "kraft_commit_latency_seconds",
            "Seconds from the append of records to their commit, on the leader.",
            _SECONDS,
        ).of()
        self.lag_s = self._histograms(
            "kraft_event_loop_lag_seconds",
            "Seconds by which a timer of the event loop, due every 20 ms, was late.",
            _SECONDS,
        ).of()
        self.snapshot_s = self._histograms(
            "kraft_snapshot_duration_seconds", "Seconds that the making of a snapshot took.", _LONG_SECONDS
        ).of()
        self.failed_snapshots = self._counters("kraft_snapshot_failures", "Snapshots that could not be made.").of()
        self.bytes_in = self._of_topic("bytesin", "Bytes of batches that clients have appended", "BytesInPerSec")
        self.records_in = self._of_topic("messagesin", "Records that clients have appended", "MessagesInPerSec")
        self.bytes_out = self._of_topic("bytesout", "Bytes of batches sent to clients", "BytesOutPerSec")
        self.replicated_in = self._of_topic(
            "replicationbytesin", "Bytes of batches fetched from the leader", "ReplicationBytesInPerSec"
        )
        self.replicated_out = self._of_topic(
            "replicationbytesout", "Bytes of batches sent to followers and observers", "ReplicationBytesOutPerSec"
        )
        records_out = self._counters(
            "kraft_records_out", "Records in responses to fetches, by receiver: client or replica.", ["receiver"]
        )
        self.records_to_clients = records_out.of("client")
        self.records_to_replicas = records_out.of("replica")
        fetched = self._counters("kraft_records_fetched", "Records that this node has fetched from the leader.")
        self.records_fetched = fetched.of()

    def _histograms(self, name: str, text: str, bounds: Sequence[float], label: str | None = None) -> Histograms:
        found = Histograms(name, text, bounds, label)
        self._registry.register(found)
        return found

    def _counters(self, name: str, text: str, labels: Sequence[str] = ()) -> Counters:
        found = Counters(name, text, labels)
        self._registry.register(found)
        return found

    def _of_topic(self, name: str, what: str, kafka_name: str) -> PlainCounter:
        """Return the counter of the node's only topic."""
        text = f"{what}. {_TOPIC},name={kafka_name},topic="
        return self._counters(f"kafka_server_brokertopicmetrics_{name}", text, ["topic"]).of(self._topic)
