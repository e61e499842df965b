"""Sentences of the documents that state a size, a duration or a count, with the value that the code has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from datasource.options import ReadOptions
from datasource.parts import BATCH_BYTES
from datasource.write_task import MESSAGE_BYTES
from kraft_spark import QueryMonitor, QuorumService
from raft import defaults
from raft.client import outage, readers
from raft.client.calls import _WAIT_FOR_READER_MS
from raft.client.producer import DEFAULT_BATCH_BYTES
from raft.config import NodeConfig, read_properties
from raft.core.config import FETCH_MAX_WAIT_MS, HIGH_WATERMARK_LINGER_MS, CoreConfig
from raft.core.epochs import LARGEST_STEP
from raft.core.fetch_responses import FULL_DISK_PAUSE_MS
from raft.core.held_writes import LONGEST_HELD_MS
from raft.core.progress import OBSERVER_SESSION_MS
from raft.core.refusals import REFUSAL_COUNTS_MS
from raft.core.transaction_timeouts import _MOST_ENDED
from raft.core.transactions import MAX_OPEN_TRANSACTIONS
from raft.core.unfit_voters import HANDOVER_AFTER_MS
from raft.core.write_hold import HELD_BACK_MS
from raft.metrics import application, http_connections, http_server
from raft.metrics.window import SAMPLE_MS
from raft.node.inbound import _WRITE_BUFFER_BYTES, SILENT_S
from raft.node.listener import ACCEPTED_AT_ONCE
from raft.node.node import GRACE_MS
from raft.node.node_security import _WARN_BEFORE
from raft.node.read_buffer import SMALL_BYTES
from raft.node.request_frames import MAX_REQUEST_BYTES
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from raft.records.header_fields import HEADER
from raft.runtime import turns
from raft.runtime.client_quotas import CREDIT_S
from raft.runtime.fault_log import _QUIET_MS
from raft.runtime.piecewise_read import PIECE_BYTES
from raft.runtime.requests.transactions import LONGEST_TRANSACTIONAL_ID_BYTES
from raft.runtime.snapshot_keeper import LOOK_MS
from raft.security.credentials import LEAST_ITERATIONS
from raft.security.sasl_session import MAX_REQUESTS
from raft.storage.data_records import MAX_HEADERS, PIECE_HEADERS
from raft.storage.log_config import LogConfig
from raft.transactions import MAX_TRANSACTIONAL_IDS
from raft.wire.response_limits import _MAX_BYTES_WITHOUT_RECORDS, MAX_UNKNOWN_BYTES
from raft.writers.expiry import NEWEST_WRITERS_KEPT

ROOT = Path(__file__).parents[2]
NODE = NodeConfig.from_properties(read_properties(ROOT / "conf" / "node.properties"))
READS = ReadOptions.of({"kraft.bootstrap.servers": "localhost:9092"})
ALERTS = (ROOT / "conf" / "prometheus-alerts.yml").read_text()


@dataclass(frozen=True, slots=True)
class Documented:
    """A number in a document.

    Fields:
        document: its path.
        sentence: a part of its text, in one line, with `{}` in place of the number and its unit.
        value: what the code has: in milliseconds or bytes if the number has a unit.
    """

    document: str
    sentence: str
    value: float


def seconds(value_s: float) -> float:
    return value_s * 1000


def default(function: Callable[..., object], parameter: str) -> float:
    found: float = inspect.signature(function).parameters[parameter].default
    return found


def of_alert(pattern: str) -> float:
    """Return a number of the alert rules."""
    (found,) = re.findall(pattern, ALERTS)
    return float(found)


_CHECK_QUORUM_MS = CoreConfig.check_quorum_ms.fget(NODE)  # type: ignore[attr-defined]
_CONNECT_MS = READS.client.connect_timeout_ms or 0

GUIDES = [
    Documented("docs/deployment.md", "`kraft.socket.connection.setup.timeout.ms` ({})", _CONNECT_MS),
    Documented("docs/exactly-once.md", "`raft.writer.expiration.ms` ({})", defaults.WRITER_EXPIRATION_MS),
    Documented("docs/exactly-once.md", "`transaction.max.timeout.ms` ({})", defaults.TRANSACTION_MAX_TIMEOUT_MS),
    Documented("docs/exactly-once.md", "have been hidden for {} longer", HELD_BACK_MS),
    Documented("docs/interop.md", "`controller.quorum.fetch.timeout.ms` ({} by default)", _CHECK_QUORUM_MS),
    Documented("docs/metrics.md", "503 when it has not turned for {}", seconds(application.HEALTHY_S)),
    Documented("docs/metrics.md", "up to {} is usual while nothing is appended", FETCH_MAX_WAIT_MS),
    Documented("docs/metrics.md", "a client gets {} and", seconds(http_connections.LONGEST_S)),
    Documented("docs/metrics.md", "and {} connections at most", http_connections.MOST),
    Documented("docs/metrics.md", "accepts {} connections in a second", 1 / http_server._PAUSE_S),
    Documented("docs/metrics.md", "collects metrics {} in a second", 1 / application.FRESH_S),
    Documented("docs/metrics.md", "`raft_metrics` are those of the last {} to", SAMPLE_MS / 1000),
    Documented("docs/monitoring.md", "| `history_rows` | {} |", default(QueryMonitor, "history_rows")),
    Documented("docs/monitoring.md", "| `log_interval_s` | {} |", default(QueryMonitor, "log_interval_s")),
    Documented("docs/monitoring.md", "`timeout_ms` ({})", default(QuorumService.describe, "timeout_ms")),
    Documented("docs/operations.md", "`queued.max.request.bytes` ({})", NODE.queued_max_request_bytes),
    Documented(
        "docs/operations.md", "`metadata.log.max.record.bytes.between.snapshots` ({})", NODE.bytes_between_snapshots
    ),
    Documented("docs/operations.md", "`metadata.max.retention.bytes` ({})", NODE.retention_bytes),
    Documented("docs/operations.md", "`raft.reserve.bytes` ({})", NODE.reserve_bytes),
    Documented(
        "docs/operations.md", "than {} times `raft.reserve.bytes`", of_alert(r"< (\d+) \* kraft_disk_reserve_bytes")
    ),
    Documented("docs/operations.md", "may be {} ahead of the leader", NODE.message_timestamp_after_max_ms),
    Documented("docs/operations.md", "and {} bytes for each batch", HEADER.size),
    Documented("docs/operations.md", "has been full for {} hands over", HANDOVER_AFTER_MS),
    Documented(
        "docs/operations.md", "| `metadata.log.max.record.bytes.between.snapshots` | {} |", NODE.bytes_between_snapshots
    ),
    Documented("docs/operations.md", "| `metadata.log.max.snapshot.interval.ms` | {} |", NODE.snapshot_interval_ms),
    Documented("docs/operations.md", "| `min.cleanable.dirty.ratio` | {} |", NODE.min_cleanable_dirty_ratio),
    Documented("docs/operations.md", "| `metadata.max.retention.bytes` | {} |", NODE.retention_bytes),
    Documented("docs/operations.md", "| `metadata.max.retention.ms` | {} |", NODE.retention_ms),
    Documented("docs/operations.md", "| `delete.retention.ms` | {} |", NODE.delete_retention_ms),
    Documented(
        "docs/operations.md", "the event loop took more than {} of", seconds(of_alert(r'"processor"\} > ([\d.]+)'))
    ),
    Documented("docs/performance.md", "A write above {} a task", MESSAGE_BYTES),
    Documented("docs/performance.md", "The newest {} are always in memory", LogConfig().tail_bytes),
    Documented("docs/python.md", "batches of up to {} (`batch_bytes`)", DEFAULT_BATCH_BYTES),
    Documented("docs/security.md", "keep more than {} of memory", MAX_REQUEST_BYTES),
    Documented("docs/security.md", "one handshake for longer than {}", seconds(SILENT_S)),
    Documented("docs/security.md", "take more than {} of a client's", MAX_UNKNOWN_BYTES),
    Documented("docs/security.md", "fires {} before", seconds(of_alert(r"time\(\) < (\d+) \* 86400") * 86400)),
    Documented("docs/security.md", "warns in its log from {} before", seconds(_WARN_BEFORE.total_seconds())),
    Documented("docs/security.md", "a wrong proof gets its response; {} |", NODE.failed_authentication_delay_ms),
    Documented("docs/security.md", "{} without use are a credit", seconds(CREDIT_S)),
    Documented("docs/security.md", "a response of more than {} before", MAX_UNKNOWN_BYTES),
    Documented("docs/security.md", "a {}th request before authentication", MAX_REQUESTS + 1),
    Documented("docs/security.md", "more than {} announced before authentication", MAX_REQUEST_BYTES),
    Documented("docs/security.md", "a proof that does not end | closed after {} |", seconds(SILENT_S)),
    Documented("docs/security.md", "each at most once in {} with the number", _QUIET_MS),
    Documented("docs/sink.md", "A task returns up to {} of rows", MESSAGE_BYTES),
    Documented("docs/sink.md", "tasks send up to {} at a time", BATCH_BYTES),
    Documented("docs/source.md", "the micro-batch before; {} by default", READS.max_trigger_delay_ms),
    Documented("docs/source.md", "more than {} record batches of transactions", MAX_HEADERS),
    Documented("docs/troubleshooting.md", "A warning, from {} of an outage on", outage.FIRST_WARNING_MS),
    Documented("docs/troubleshooting.md", "an outage on, and then every {}:", outage.NEXT_WARNING_MS),
]

INTERNALS = [
    Documented("docs/internals/log.md", "`raft/runtime/snapshot_keeper.py` looks at the directory each {}.", LOOK_MS),
    Documented("docs/internals/node.md", "processor time, each for {}", seconds(turns.TURN_S)),
    Documented("docs/internals/node.md", "After a round of {}", seconds(turns.ROUND_S)),
    Documented("docs/internals/node.md", "reads run after these, {} at a time", PIECE_BYTES),
    Documented("docs/internals/node.md", "plans of micro-batches {} record batches", PIECE_HEADERS),
    Documented("docs/internals/reading.md", "asks up to {} followers or observers", readers.MOST_READERS),
    Documented("docs/internals/transactions.md", "The newest {} writers of each kind", NEWEST_WRITERS_KEPT),
    Documented("docs/decisions/0008-one-batch-or-parts.md", "A task with few rows ({})", MESSAGE_BYTES),
    Documented("docs/decisions/0008-one-batch-or-parts.md", "transactional batches of up to {},", BATCH_BYTES),
    Documented("docs/decisions/0009-client-reads-wait.md", "are split into pieces of {}.", PIECE_BYTES),
    Documented("docs/decisions/0009-client-reads-wait.md", "at most one piece of {}.", PIECE_BYTES),
    Documented(
        "docs/decisions/0010-writers-are-forgotten.md",
        "`producer.id.expiration.ms` ({})",
        NODE.producer_id_expiration_ms,
    ),
    Documented(
        "docs/decisions/0010-writers-are-forgotten.md", "`raft.writer.expiration.ms` ({})", NODE.writer_expiration_ms
    ),
    Documented(
        "docs/decisions/0010-writers-are-forgotten.md", "The newest {} writers of each kind", NEWEST_WRITERS_KEPT
    ),
]

RULES = [
    Documented("docs/rules.md", sentence, value)
    for sentence, value in [
        ("or more than {} above our own, is not adopted", LARGEST_STEP),
        ("Fetch MaxWait {} sent", FETCH_MAX_WAIT_MS),
        ("graceful shutdown {};", GRACE_MS),
        ("observer forgotten after {} without fetch", OBSERVER_SESSION_MS),
        ("the leader delays the response by {}.", HIGH_WATERMARK_LINGER_MS),
        ("10 for more than {} when decompressed", DEFAULT_MAX_DECOMPRESSED_BYTES),
        ("and {} others of its kind have written since", NEWEST_WRITERS_KEPT),
        ("Names of more than {} bytes", LONGEST_TRANSACTIONAL_ID_BYTES),
        ("The newest {} transactional ids are remembered", MAX_TRANSACTIONAL_IDS),
        ("At most {} transactions are open", MAX_OPEN_TRANSACTIONS),
        ("are aborted {} at a time", _MOST_ENDED),
        ("and {} more has passed by the leader's clock", HELD_BACK_MS),
        ("moved on, its timeout, or {},", LONGEST_HELD_MS),
        ("and again after {}. Clients of other numbers", readers._FORGET_MS),
        ("no records within {},", _WAIT_FOR_READER_MS),
        ("At most {} readers are asked before the leader", readers.MOST_READERS),
        ("(LOG-24, LOG-27) for {} resigns", HANDOVER_AFTER_MS),
        ("fetches at its durable end every {}:", FULL_DISK_PAUSE_MS),
        ("have refused it within {} and", REFUSAL_COUNTS_MS),
        ("or a {}th ends the connection", MAX_REQUESTS + 1),
        ("SCRAM has at least {} iterations", LEAST_ITERATIONS),
        ("at most one frame of {} and one TLS handshake", MAX_REQUEST_BYTES),
        ("one TLS handshake, and it has {}.", seconds(SILENT_S)),
        ("a client or another node accepts at most {} in a response", MAX_UNKNOWN_BYTES),
        ("afterwards {} in one without records", _MAX_BYTES_WITHOUT_RECORDS),
        ("begins no further request after {} of processor time", seconds(turns.TURN_S)),
        ("a round of turns ends after {};", seconds(turns.ROUND_S)),
        ("is not read if more than {} were received at once", SMALL_BYTES),
        ("accepts at most {} connections of a listener", ACCEPTED_AT_ONCE),
        ("in which {} of processor time are over", seconds(turns.LONGEST_HOLD_S)),
        ("since the first of them, or {} if", seconds(turns.HOLD_S)),
        ("until its client has read all but {} of", _WRITE_BUFFER_BYTES),
        ("{} without use are a credit", seconds(CREDIT_S)),
    ]
]

DOCUMENTED = [*GUIDES, *INTERNALS, *RULES]
