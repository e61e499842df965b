"""One node's configuration, from Kafka's own keys: the same file starts Kafka's TestRaftServer and `kraft serve`."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from raft import defaults
from raft.config import endpoints, values
from raft.config.authorization import AUTHORIZATION_PROPERTIES, AuthorizationSettings, authorization
from raft.config.client_listeners import ClientListener, client_listeners, voters_key
from raft.config.listener_security import (
    HTTPS,
    ListenerSecurity,
    listener_security,
    refuse_unused,
    security_keys,
    security_to_voters,
)
from raft.config.paths import file_path
from raft.config.property import ROW, Parse, Property, as_text, rows
from raft.config.security import NO_SECURITY, ClientSecurity
from raft.config.values import at_least, choice_of
from raft.errors import ConfigError
from raft.types import LARGEST_BATCH_BYTES, ZERO_UUID, CleanupPolicy, Endpoint, NodeId, Uuid

Voters = Mapping[NodeId, Endpoint]

_MEBIBYTE = 1 << 20
_DAY_MS = 86_400_000
_INT32_MAX = (1 << 31) - 1
_FRAME_ROOM_BYTES = 64 << 10
"""Room for the rest of the largest Produce request, beside its batch: most of it is the client id, up to 32 KiB."""
_INT64_MAX = (1 << 63) - 1

QUOTAS_FILE = "raft.quotas.file"

# A row has two lines: what programs read, and what people read.
# fmt: off
_READ_TOGETHER = (
    Property("process.roles", as_text, "controller", "the only role that a node has"),
    Property("listeners", as_text, None,
        "`NAME://host:port,...`: where it listens; an empty host is all interfaces", "required"),
    Property("advertised.listeners", as_text, None, "where other nodes and clients reach it", "the listeners"),
    Property("controller.listener.names", as_text, None,
        "the listener for voters; others refuse requests in a voter's name"),
    Property(voters_key("<name>"), as_text, None,
        "`id@host:port,...`: where clients of a listener reach the voters", "their hosts, with its own port"),
    Property("log.dirs", as_text, None, "the directory of its log, which it shares with no other node", "required"),
    Property("log.dir", as_text, None, "the same as log.dirs"),
    Property("metadata.log.dir", as_text, None, "the same; it is used instead of the others"),
    *AUTHORIZATION_PROPERTIES,
)
# fmt: on
WITHOUT_EFFECT = {
    "controller.quorum.append.linger.ms": "a batch is written when it arrives, never merged or delayed",
    "controller.quorum.auto.join.enable": "the set of voters is static",
}
"""Properties of Kafka's nodes that are accepted with a warning, and why."""


def _property(name: str, parse: Parse[Any], default: object, meaning: str, default_text: str | None = None) -> Any:
    """Return a field that has the value of one property; see `Property`."""
    return field(default=default, metadata={ROW: Property(name, parse, default, meaning, default_text)})


def _path(_key: str, value: str) -> Path:
    return file_path(value)


_number = at_least(0, at_most=_INT32_MAX)
_positive = at_least(1, at_most=_INT32_MAX)
_long = at_least(0, at_most=_INT64_MAX)
_positive_long = at_least(1, at_most=_INT64_MAX)
_timeout = at_least(10, at_most=_INT32_MAX)
"""A shorter timeout would expire before any response can arrive (TIMER-1)."""

_limit = at_least(-1, at_most=_INT64_MAX)
"""-1 stands for no limit."""


_cleanup_policy = choice_of(CleanupPolicy, "none, compact or delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeConfig:
    """The configuration of a node. Times are in milliseconds, sizes in bytes.

    Fields:
        listener: where it listens for the other voters, and for clients; an empty host stands for all interfaces.
        advertised: where other nodes and clients reach that listener.
        client_listeners: where it listens for clients only.
        security: how each listener is secured, by its name.
        security_to_voters: how this node connects to the voters' listener of other nodes.
        authorization: who may do what; None if everyone may do everything.
        metrics_security: how the listener of the metrics is secured; None if it is not.
        log_dir: the directory of `meta.properties` and of the partition's directory.
        warnings: for the operator, one sentence each.
        unknown_keys: those that are ignored, with the known key that is most similar, if one is; in the warnings too.

    The other fields have the values of their properties.
    """

    listener: Endpoint
    advertised: Endpoint
    client_listeners: tuple[ClientListener, ...] = ()
    security: Mapping[str, ListenerSecurity] = field(default_factory=dict)
    security_to_voters: ClientSecurity = NO_SECURITY
    metrics_security: ListenerSecurity | None = None
    authorization: AuthorizationSettings | None = None
    log_dir: Path
    warnings: tuple[str, ...] = ()
    unknown_keys: Mapping[str, str | None] = field(default_factory=dict)
    # fmt: off
    node_id: NodeId = _property("node.id", _number, None, "id of this node", "required")
    cluster_id: str | None = _property("cluster.id", as_text, None,
        "id of the cluster; later starts refuse another one", ZERO_UUID)
    voters: Voters = _property("controller.quorum.voters", endpoints.voters, None,
        "`id@host:port,...` of the voters; a node whose id is not among them is an observer", "required")
    bootstrap_servers: tuple[Endpoint, ...] = _property("controller.quorum.bootstrap.servers", endpoints.addresses, (),
        "`host:port,...` of some nodes, from which an observer without voters gets the leader", "")
    election_timeout_ms: int = _property("controller.quorum.election.timeout.ms", _timeout,
        defaults.ELECTION_TIMEOUT_MS, "between two rounds of votes there are one to two election timeouts")
    fetch_timeout_ms: int = _property("controller.quorum.fetch.timeout.ms", _timeout, defaults.FETCH_TIMEOUT_MS,
        "a follower without a successful fetch for so long starts a pre-vote")
    election_backoff_max_ms: int = _property("controller.quorum.election.backoff.max.ms", _number,
        defaults.ELECTION_BACKOFF_MAX_MS, "longest wait of a voter for better successors of a resigned leader")
    request_timeout_ms: int = _property("controller.quorum.request.timeout.ms", _timeout, defaults.REQUEST_TIMEOUT_MS,
        "how long to wait for the response of another node")
    retry_backoff_ms: int = _property("controller.quorum.retry.backoff.ms", _positive, defaults.RETRY_BACKOFF_MS,
        "how long no request is sent to a node after a failed one")
    fetch_max_bytes: int = _property("controller.quorum.fetch.max.bytes", _positive, defaults.FETCH_MAX_BYTES,
        "most bytes of records in a fetch")
    fetch_snapshot_max_bytes: int = _property("controller.quorum.fetch.snapshot.max.bytes", _positive,
        defaults.FETCH_SNAPSHOT_MAX_BYTES, "most bytes of a snapshot to fetch at once")
    segment_bytes: int = _property("metadata.log.segment.bytes", at_least(8 * _MEBIBYTE, at_most=_INT32_MAX),
        defaults.SEGMENT_BYTES, "largest segment file of the log")
    message_max_bytes: int = _property("message.max.bytes", at_least(1, at_most=LARGEST_BATCH_BYTES),
        8 * _MEBIBYTE,
        "largest record batch from a client, and so the largest micro-batch that Spark writes; kraft.max.request.size "
        "of the client must allow it too")
    queued_max_request_bytes: int = _property("queued.max.request.bytes", _positive, 64 * _MEBIBYTE,
        "it stops reading from sockets while this many bytes of requests wait; at least message.max.bytes")
    socket_request_max_bytes: int | None = _property("socket.request.max.bytes", _positive, None,
        "largest request that is read; a larger one ends the connection", "104857600, or message.max.bytes and 1 MiB")
    max_connections: int = _property("max.connections", _positive, 1000,
        "with one more, the one that was idle for longest is closed, of the user that has most of them")
    max_connections_per_ip: int = _property("max.connections.per.ip", _positive, _INT32_MAX,
        "connections from one address; more are refused")
    connections_max_idle_ms: int = _property("connections.max.idle.ms", _positive, 600_000,
        "a connection without requests for so long is closed")
    failed_authentication_delay_ms: int = _property("connection.failed.authentication.delay.ms", _number, 100,
        "how late a wrong proof of a client's name gets its response")
    producer_id_expiration_ms: int = _property("producer.id.expiration.ms", _positive,
        defaults.PRODUCER_ID_EXPIRATION_MS,
        "how long an idempotent producer, or a plain batch write, is remembered after its last write, in log time, "
        "unless it is one of the newest 1,000; the same on all nodes")
    writer_expiration_ms: int = _property("raft.writer.expiration.ms", _long, defaults.WRITER_EXPIRATION_MS,
        "the same for streaming queries and other writers of several versions")
    message_timestamp_after_max_ms: int = _property("log.message.timestamp.after.max.ms", _long, 3_600_000,
        "how far the timestamp of a record may be ahead of the leader's clock; others are refused")
    transaction_max_timeout_ms: int = _property("transaction.max.timeout.ms", _positive,
        defaults.TRANSACTION_MAX_TIMEOUT_MS,
        "a transaction, or a write in several parts, that is open for longer is aborted")
    cleanup_policy: CleanupPolicy = _property("cleanup.policy", _cleanup_policy, CleanupPolicy.NONE,
        "`none` keeps all records, `compact` the newest of each key, `delete` those that the retention allows; the "
        "same on all nodes")
    bytes_between_snapshots: int = _property("metadata.log.max.record.bytes.between.snapshots", _positive_long,
        20 * _MEBIBYTE, "a snapshot is made when this many bytes were appended since the last one")
    snapshot_interval_ms: int = _property("metadata.log.max.snapshot.interval.ms", _long, 3_600_000,
        "a snapshot is made after this time, if there are new records")
    min_cleanable_dirty_ratio: float = _property("min.cleanable.dirty.ratio", values.ratio, 0.5,
        "under compact, a snapshot waits until the new bytes are this part of the new bytes and the last snapshot")
    retention_bytes: int = _property("metadata.max.retention.bytes", _limit, 100 * _MEBIBYTE,
        "what snapshots cover is removed from the log while both are larger than this; -1 is no limit")
    retention_ms: int = _property("metadata.max.retention.ms", _limit, 7 * _DAY_MS,
        "records older than this are removed, if a snapshot covers them; -1 is no limit")
    delete_retention_ms: int = _property("delete.retention.ms", _long, _DAY_MS,
        "how long a record that deletes its key stays after the first snapshot that has it")
    reserve_bytes: int = _property("raft.reserve.bytes", _positive_long, 64 * _MEBIBYTE,
        "how much of the disk is kept free of records (LOG-24)")
    scrub_bytes_per_second: int = _property("raft.scrub.bytes.per.second", _long, _MEBIBYTE,
        "how fast the node checks its log in the background (LOG-26); 0 is no check")
    scrub_interval_ms: int = _property("raft.scrub.interval.ms", _long, _DAY_MS,
        "time from one check of the whole log to the next one")
    metrics_listener: Endpoint | None = _property("metrics.listeners", endpoints.http_listener, None,
        "`HTTP://host:port` or `HTTPS://host:port`, where it serves its metrics and its health")
    rack: str | None = _property("broker.rack", as_text, None,
        "its rack, or availability zone: clients of the same rack may prefer it")
    topic_name: str = _property("raft.topic.name", values.topic_name, "__cluster_metadata", "name of the topic")
    topic_id: Uuid = _property("raft.topic.id", values.uuid, Uuid("AAAAAAAAAAAAAAAAAAAAAQ"), "id of the topic")
    verify_voter_addresses: bool = _property("raft.voters.verify.address", values.truth, False,
        "accept a voter's requests only from the addresses of its entry in the voters")
    node_log_max_bytes: int = _property("raft.node.log.max.bytes", _positive, 16 * _MEBIBYTE,
        "with `kraft serve --log-file`, as in a local quorum: a larger log file is renamed")
    node_log_old_files: int = _property("raft.node.log.old.files", _positive, 4, "how many renamed log files are kept")
    quotas_file: Path | None = _property(QUOTAS_FILE, _path, None,
        "file with the quotas of clients, such as conf/quotas.toml")
    records_strict: bool = _property("raft.records.strict", values.truth, False,
        "refuse records and transactions on which a Java node's reader would exit")
    # fmt: on

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> NodeConfig:
        """Check properties and return the configuration.

        Raises:
            ConfigError: a key is missing or has a wrong value; says which, and what is expected.
        """
        given = {key: value.strip() for key, value in properties.items()}
        parsed = {name: row.parse(row.name, given[row.name]) for name, row in rows(cls).items() if given.get(row.name)}
        node_id, voters = _quorum(parsed)
        _check_sizes(parsed)
        _check_roles(given)
        listener, for_clients = _listeners(given)
        security = {each.name: listener_security(given, each) for each in (listener, *for_clients)}
        metrics = parsed.get("metrics_listener")
        metrics_security = listener_security(given, metrics) if metrics and metrics.name == HTTPS else None
        refuse_unused(given, security if metrics_security is None else {**security, HTTPS: metrics_security})
        unknown_keys = _unknown_keys(given, (listener, *for_clients))
        listed = endpoints.listeners("advertised.listeners", given.get("advertised.listeners", ""))
        advertised = {endpoint.name: endpoint for endpoint in listed}
        return cls(
            **parsed | {"voters": voters},
            listener=listener,
            advertised=_advertised(given, advertised.get(listener.name), listener, voters.get(node_id)),
            client_listeners=client_listeners(
                given, for_clients, node_id=node_id, voters=voters, advertised=advertised
            ),
            security=security,
            security_to_voters=security_to_voters(given, listener, security[listener.name]),
            metrics_security=metrics_security,
            authorization=authorization(given, security.items()),
            log_dir=_log_dir(given),
            warnings=tuple(_warnings(given, unknown_keys)),
            unknown_keys=unknown_keys,
        )


NODE_PROPERTIES = (*rows(NodeConfig).values(), *_READ_TOGETHER)
"""The table, without the properties for TLS and SASL."""


def _quorum(parsed: Mapping[str, Any]) -> tuple[NodeId, Voters]:
    if "node_id" not in parsed:
        raise ConfigError("node.id is missing: expected a whole number of 0 or more")
    voters = parsed.get("voters", {})
    if not voters and not parsed.get("bootstrap_servers"):
        raise ConfigError(
            "the quorum is missing: expected controller.quorum.voters=id@host:port,..., or, for an observer, "
            "controller.quorum.bootstrap.servers=host:port,..."
        )
    return parsed["node_id"], voters


def _check_sizes(parsed: dict[str, Any]) -> None:
    """Refuse limits that contradict each other, and give the one that is missing a value that fits the others.

    A frame must have room for the largest batch, or the node would close the client's connection instead of refusing
    the batch. The queue of requests must have room for a batch too.
    """
    largest_batch = parsed.get("message_max_bytes", NodeConfig.__dataclass_fields__["message_max_bytes"].default)
    largest_frame = parsed.get("socket_request_max_bytes")
    if largest_frame is not None and largest_frame < largest_batch + _FRAME_ROOM_BYTES:
        raise values.refuse(
            "socket.request.max.bytes",
            str(largest_frame),
            f"{largest_batch + _FRAME_ROOM_BYTES} or more: message.max.bytes={largest_batch} and "
            f"{_FRAME_ROOM_BYTES} for the request around it",
        )
    default_queue = NodeConfig.__dataclass_fields__["queued_max_request_bytes"].default
    queue = parsed.setdefault("queued_max_request_bytes", max(default_queue, largest_batch))
    if queue < largest_batch:
        raise values.refuse("queued.max.request.bytes", str(queue), f"message.max.bytes={largest_batch} or more")


def _check_roles(given: Mapping[str, str]) -> None:
    roles = values.words(given.get("process.roles", "controller"))
    if roles != ("controller",):
        raise values.refuse("process.roles", given["process.roles"], "controller")


def _listeners(given: Mapping[str, str]) -> tuple[Endpoint, tuple[Endpoint, ...]]:
    """Return the listener for voters, which serves clients too, and the listeners for clients only."""
    listeners = endpoints.listeners("listeners", given.get("listeners", ""))
    names = [name.upper() for name in values.words(given.get("controller.listener.names", ""))]
    for_voters = [listener for listener in listeners if not names or listener.name in names]
    if len(for_voters) != 1:
        raise values.refuse(
            "listeners",
            given.get("listeners", ""),
            "one listener, such as CONTROLLER://host:9093; or several, of which controller.listener.names names the "
            "one for voters",
        )
    return for_voters[0], tuple(listener for listener in listeners if listener is not for_voters[0])


def _advertised(
    given: Mapping[str, str], advertised: Endpoint | None, listener: Endpoint, as_voter: Endpoint | None
) -> Endpoint:
    if advertised is not None:
        if endpoints.is_every_interface(advertised.host):
            raise values.refuse(
                "advertised.listeners",
                given["advertised.listeners"],
                "hosts that other nodes and clients can connect to; 0.0.0.0, [::] and an empty host belong into "
                "listeners",
            )
        return advertised
    if not endpoints.is_every_interface(listener.host):
        return listener
    if as_voter is not None:
        return Endpoint(as_voter.host, as_voter.port, listener.name)
    return Endpoint("localhost", listener.port, listener.name)


def _log_dir(given: Mapping[str, str]) -> Path:
    for key in ("metadata.log.dir", "log.dirs", "log.dir"):
        directories = values.words(given.get(key, ""))
        if len(directories) > 1:
            raise values.refuse(
                key,
                given[key],
                "one directory, because a node has one log; metadata.log.dir chooses it where log.dirs must have more",
            )
        if directories:
            return file_path(directories[0])
    raise ConfigError("log.dirs is missing: expected a directory for the log")


def _unknown_keys(given: Mapping[str, str], listeners: Collection[Endpoint]) -> dict[str, str | None]:
    keys = {row.name for row in NODE_PROPERTIES} - {voters_key("<name>")}
    keys.update(voters_key(listener.name) for listener in listeners)
    keys.update(security_keys(given, [*(listener.name for listener in listeners), HTTPS]))
    unknown = (key for key in given if key not in keys and key not in WITHOUT_EFFECT)
    return {key: next(iter(difflib.get_close_matches(key, keys, n=1)), None) for key in unknown}


def _warnings(given: Mapping[str, str], unknown: Mapping[str, str | None]) -> list[str]:
    found = []
    for key in given:
        if key in WITHOUT_EFFECT:
            found.append(f"{key} has no effect here: {WITHOUT_EFFECT[key]}")
        elif key in unknown:
            near = unknown[key]
            found.append(f"unknown key {key} is ignored" + (f"; did you mean {near}?" if near else ""))
    if not given.get("cluster.id"):
        found.append(f"cluster.id is missing: {ZERO_UUID} is used, as by any other quorum without a cluster.id")
    return found
