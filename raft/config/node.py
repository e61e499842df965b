"""One node's configuration, from Kafka's own keys: the same file starts Kafka's TestRaftServer and `kraft serve`."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from raft import defaults
from raft.config import values
from raft.config.authorization import AUTHORIZATION_KEYS, AuthorizationSettings, authorization
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
from raft.config.security import NO_SECURITY, ClientSecurity
from raft.errors import ConfigError
from raft.types import LARGEST_BATCH_BYTES, ZERO_UUID, CleanupPolicy, Endpoint, NodeId, Uuid

Voters = Mapping[NodeId, Endpoint]
Parse = Callable[[str, str], Any]

_MEBIBYTE = 1 << 20
_INT32_MAX = (1 << 31) - 1
_FRAME_ROOM_BYTES = 64 << 10
"""Room for the rest of the largest Produce request, beside its batch: most of it is the client id, up to 32 KiB."""
_INT64_MAX = (1 << 63) - 1

QUOTAS_FILE = "raft.quotas.file"

_READ_TOGETHER = frozenset(
    [
        "process.roles",
        "listeners",
        "advertised.listeners",
        "controller.listener.names",
        "log.dir",
        "log.dirs",
        "metadata.log.dir",
        *AUTHORIZATION_KEYS,
    ]
)
_WITHOUT_EFFECT = {
    "controller.quorum.append.linger.ms": "a batch is written when it arrives, never merged or delayed",
    "controller.quorum.auto.join.enable": "the set of voters is static",
}


def _key(name: str, parse: Parse, default: object) -> Any:
    """Return a field that has the value of one key."""
    return field(default=default, metadata={"key": name, "parse": parse})


def _number(*, at_least: int = 0, at_most: int = _INT32_MAX) -> Parse:
    return lambda key, value: values.whole_number(key, value, at_least=at_least, at_most=at_most)


def _text(_key: str, value: str) -> str:
    return value


def _path(_key: str, value: str) -> Path:
    return file_path(value)


_milliseconds = _number()
_long_milliseconds = _long_or_zero = _number(at_most=_INT64_MAX)
_timeout = _number(at_least=10)
"""A shorter timeout would expire before any response can arrive (TIMER-1)."""

_bytes = _number(at_least=1)
_limit = _number(at_least=-1, at_most=_INT64_MAX)
"""-1 stands for no limit."""

_long_bytes = _number(at_least=1, at_most=_INT64_MAX)


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
        cluster_id: None when the configuration has no cluster id.
        message_max_bytes: largest record batch that it accepts from a client.
        queued_max_request_bytes: it stops reading from sockets while this many bytes of requests wait. By default
            64 MiB, or the size of a batch if that is more.
        socket_request_max_bytes: largest frame that it reads; a larger one ends the connection. None: 100 MiB, or a
            batch and 1 MiB if that is more.
        max_connections_per_ip: connections from one address; more are refused.
        failed_authentication_delay_ms: how late a wrong proof of a client's name gets its response.
        verify_voter_addresses: accept a voter's requests only from the addresses of its entry in the voters.
        producer_id_expiration_ms: how long an idempotent producer, or a plain batch write, is remembered after its
            last write, in log time, unless it is one of the newest; every node of the quorum needs the same value.
        writer_expiration_ms: the same for streaming queries and other writers of several versions.
        message_timestamp_after_max_ms: how far a record's timestamp may lie ahead of the leader's clock.
        transaction_max_timeout_ms: longest duration of a transaction; one that is open for longer is aborted.
        cleanup_policy: what becomes of old records; every node of the quorum needs the same value.
        bytes_between_snapshots: a snapshot is made when this many bytes were appended since the last one.
        snapshot_interval_ms: a snapshot is made after this time, if there are new records.
        min_cleanable_dirty_ratio: a snapshot that keeps records waits until the new bytes are this part of all.
        retention_bytes: the log begins later while it is larger, with its snapshots; -1 for no limit.
        retention_ms: records older than this are removed, if a snapshot covers them; -1 for no limit.
        delete_retention_ms: how long a record that deletes its key stays after the first snapshot that has it.
        reserve_bytes: how much of the disk is kept free of records (LOG-24).
        scrub_bytes_per_second: how fast the node checks its log in the background (LOG-26); 0 checks nothing.
        scrub_interval_ms: time from one check of the whole log to the next one.
        metrics_listener: where it serves its metrics and its health over HTTP; None serves none.
        rack: its rack, or availability zone: clients of the same rack may prefer it to others; None if it has none.
        node_log_max_bytes: with `kraft serve --log-file`, as in a local quorum: a larger log file is renamed.
        node_log_old_files: how many renamed log files are kept.
        quotas_file: with the quotas of clients (`raft.security.quotas`); None if they have none.
        records_strict: refuse records and transactions on which a Java node's reader would exit.
        warnings: for the operator, one sentence each.
        unknown_keys: those that are ignored, with the known key that is most similar, if one is; in the warnings too.
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
    node_id: NodeId = _key("node.id", _number(), None)
    cluster_id: str | None = _key("cluster.id", _text, None)
    voters: Voters = _key("controller.quorum.voters", values.voters, None)
    bootstrap_servers: tuple[Endpoint, ...] = _key("controller.quorum.bootstrap.servers", values.addresses, ())
    election_timeout_ms: int = _key("controller.quorum.election.timeout.ms", _timeout, defaults.ELECTION_TIMEOUT_MS)
    fetch_timeout_ms: int = _key("controller.quorum.fetch.timeout.ms", _timeout, defaults.FETCH_TIMEOUT_MS)
    election_backoff_max_ms: int = _key(
        "controller.quorum.election.backoff.max.ms", _milliseconds, defaults.ELECTION_BACKOFF_MAX_MS
    )
    request_timeout_ms: int = _key("controller.quorum.request.timeout.ms", _timeout, defaults.REQUEST_TIMEOUT_MS)
    retry_backoff_ms: int = _key("controller.quorum.retry.backoff.ms", _number(at_least=1), defaults.RETRY_BACKOFF_MS)
    fetch_max_bytes: int = _key("controller.quorum.fetch.max.bytes", _bytes, defaults.FETCH_MAX_BYTES)
    fetch_snapshot_max_bytes: int = _key(
        "controller.quorum.fetch.snapshot.max.bytes", _bytes, defaults.FETCH_SNAPSHOT_MAX_BYTES
    )
    segment_bytes: int = _key("metadata.log.segment.bytes", _number(at_least=8 * _MEBIBYTE), defaults.SEGMENT_BYTES)
    message_max_bytes: int = _key("message.max.bytes", _number(at_least=1, at_most=LARGEST_BATCH_BYTES), 8 * _MEBIBYTE)
    queued_max_request_bytes: int = _key("queued.max.request.bytes", _bytes, 64 * _MEBIBYTE)
    socket_request_max_bytes: int | None = _key("socket.request.max.bytes", _bytes, None)
    max_connections: int = _key("max.connections", _number(at_least=1), 1000)
    max_connections_per_ip: int = _key("max.connections.per.ip", _number(at_least=1), _INT32_MAX)
    connections_max_idle_ms: int = _key("connections.max.idle.ms", _number(at_least=1), 600_000)
    failed_authentication_delay_ms: int = _key("connection.failed.authentication.delay.ms", _milliseconds, 100)
    producer_id_expiration_ms: int = _key(
        "producer.id.expiration.ms", _number(at_least=1), defaults.PRODUCER_ID_EXPIRATION_MS
    )
    writer_expiration_ms: int = _key("raft.writer.expiration.ms", _long_milliseconds, defaults.WRITER_EXPIRATION_MS)
    message_timestamp_after_max_ms: int = _key("log.message.timestamp.after.max.ms", _long_milliseconds, 3_600_000)
    transaction_max_timeout_ms: int = _key(
        "transaction.max.timeout.ms", _number(at_least=1), defaults.TRANSACTION_MAX_TIMEOUT_MS
    )
    cleanup_policy: CleanupPolicy = _key("cleanup.policy", values.cleanup_policy, CleanupPolicy.NONE)
    bytes_between_snapshots: int = _key(
        "metadata.log.max.record.bytes.between.snapshots", _long_bytes, defaults.BYTES_BETWEEN_SNAPSHOTS
    )
    snapshot_interval_ms: int = _key(
        "metadata.log.max.snapshot.interval.ms", _long_milliseconds, defaults.SNAPSHOT_INTERVAL_MS
    )
    min_cleanable_dirty_ratio: float = _key(
        "min.cleanable.dirty.ratio", values.ratio, defaults.MIN_CLEANABLE_DIRTY_RATIO
    )
    retention_bytes: int = _key(
        "metadata.max.retention.bytes", _number(at_least=-1, at_most=_INT64_MAX), defaults.RETENTION_BYTES
    )
    retention_ms: int = _key(
        "metadata.max.retention.ms", _number(at_least=-1, at_most=_INT64_MAX), defaults.RETENTION_MS
    )
    delete_retention_ms: int = _key("delete.retention.ms", _long_milliseconds, defaults.DELETE_RETENTION_MS)
    reserve_bytes: int = _key("raft.reserve.bytes", _long_bytes, defaults.RESERVE_BYTES)
    scrub_bytes_per_second: int = _key("raft.scrub.bytes.per.second", _long_or_zero, defaults.SCRUB_BYTES_PER_SECOND)
    scrub_interval_ms: int = _key("raft.scrub.interval.ms", _long_milliseconds, defaults.SCRUB_INTERVAL_MS)
    metrics_listener: Endpoint | None = _key("metrics.listeners", values.http_listener, None)
    rack: str | None = _key("broker.rack", _text, None)
    topic_name: str = _key("raft.topic.name", values.topic_name, "__cluster_metadata")
    topic_id: Uuid = _key("raft.topic.id", values.uuid, Uuid("AAAAAAAAAAAAAAAAAAAAAQ"))
    verify_voter_addresses: bool = _key("raft.voters.verify.address", values.truth, False)
    node_log_max_bytes: int = _key("raft.node.log.max.bytes", _number(at_least=1), defaults.NODE_LOG_MAX_BYTES)
    node_log_old_files: int = _key("raft.node.log.old.files", _number(at_least=1), defaults.NODE_LOG_OLD_FILES)
    quotas_file: Path | None = _key(QUOTAS_FILE, _path, None)
    records_strict: bool = _key("raft.records.strict", values.truth, False)

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> NodeConfig:
        """Check properties and return the configuration.

        Raises:
            ConfigError: a key is missing or has a wrong value; says which, and what is expected.
        """
        given = {key: value.strip() for key, value in properties.items()}
        parsed = {
            known.name: known.metadata["parse"](known.metadata["key"], given[known.metadata["key"]])
            for known in _keyed_fields()
            if given.get(known.metadata["key"])
        }
        node_id, voters = _quorum(parsed)
        _check_sizes(parsed)
        _check_roles(given)
        listener, for_clients = _listeners(given)
        security = {each.name: listener_security(given, each) for each in (listener, *for_clients)}
        metrics = parsed.get("metrics_listener")
        metrics_security = listener_security(given, metrics) if metrics and metrics.name == HTTPS else None
        refuse_unused(given, security if metrics_security is None else {**security, HTTPS: metrics_security})
        unknown_keys = _unknown_keys(given)
        return cls(
            **parsed | {"voters": voters},
            listener=listener,
            advertised=_advertised(given, listener, voters.get(node_id)),
            client_listeners=client_listeners(
                given,
                for_clients,
                node_id=node_id,
                voters=voters,
                advertised={
                    endpoint.name: endpoint
                    for endpoint in values.listeners("advertised.listeners", given.get("advertised.listeners", ""))
                },
            ),
            security=security,
            security_to_voters=security_to_voters(given, listener, security[listener.name]),
            metrics_security=metrics_security,
            authorization=authorization(given, security.items()),
            log_dir=_log_dir(given),
            warnings=tuple(_warnings(given, unknown_keys)),
            unknown_keys=unknown_keys,
        )


def _keyed_fields() -> list[Any]:
    return [known for known in fields(NodeConfig) if "key" in known.metadata]


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
    listeners = values.listeners("listeners", given.get("listeners", ""))
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


def _advertised(given: Mapping[str, str], listener: Endpoint, as_voter: Endpoint | None) -> Endpoint:
    for advertised in values.listeners("advertised.listeners", given.get("advertised.listeners", "")):
        if advertised.name == listener.name:
            if values.is_every_interface(advertised.host):
                raise values.refuse(
                    "advertised.listeners",
                    given["advertised.listeners"],
                    "hosts that other nodes and clients can connect to; 0.0.0.0, [::] and an empty host belong into "
                    "listeners",
                )
            return advertised
    if not values.is_every_interface(listener.host):
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


def _unknown_keys(given: Mapping[str, str]) -> dict[str, str | None]:
    keys = {known.metadata["key"] for known in _keyed_fields()} | _READ_TOGETHER
    listeners = values.listeners("listeners", given.get("listeners", ""))
    keys.update(map(voters_key, listeners))
    keys.update(security_keys(given, [*(listener.name for listener in listeners), HTTPS]))
    unknown = (key for key in given if key not in keys and key not in _WITHOUT_EFFECT)
    return {key: next(iter(difflib.get_close_matches(key, keys, n=1)), None) for key in unknown}


def _warnings(given: Mapping[str, str], unknown: Mapping[str, str | None]) -> list[str]:
    found = []
    for key in given:
        if key in _WITHOUT_EFFECT:
            found.append(f"{key} has no effect here: {_WITHOUT_EFFECT[key]}")
        elif key in unknown:
            near = unknown[key]
            found.append(f"unknown key {key} is ignored" + (f"; did you mean {near}?" if near else ""))
    if not given.get("cluster.id"):
        found.append(f"cluster.id is missing: {ZERO_UUID} is used, as by any other quorum without a cluster.id")
    return found
