"""The options of reads and writes: their names, values and combinations are checked without the network."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from datasource.kafka_options import why_not
from datasource.option_values import (
    Bound,
    Parse,
    Place,
    ReadColumns,
    View,
    at_least,
    duration_ms,
    ending_offsets,
    is_relative,
    not_empty,
    read_columns_choice,
    read_from,
    request_size,
    starting_offsets,
    strategy,
    text,
    timestamp,
    view,
)
from raft.client import ClientSettings, ReadFrom, WriteKey
from raft.client.settings import (
    DEFAULT_API_TIMEOUT_MS,
    DEFAULT_MAX_REQUEST_BYTES,
    DEFAULT_REQUEST_TIMEOUT_MS,
)
from raft.config.security import CLIENT_KEYS, ClientSecurity, client_security
from raft.config.values import addresses, truth
from raft.errors import ConfigError
from raft.types import Endpoint

Value = TypeVar("Value")
Options = Mapping[str, str]

BOOTSTRAP_SERVERS = "kraft.bootstrap.servers"
CLUSTER_ID = "kraft.cluster.id"
API_TIMEOUT = "kraft.default.api.timeout.ms"
REQUEST_TIMEOUT = "kraft.request.timeout.ms"
CONNECT_TIMEOUT = "kraft.socket.connection.setup.timeout.ms"
MAX_REQUEST_SIZE = "kraft.max.request.size"
READ_FROM = "kraft.read.from"
RACK = "kraft.client.rack"

CONFIG_FILE = "kraft.config"
"""Names a file with the options that are not given: see `datasource.default_options`."""

SECURITY_NAMES = tuple(f"kraft.{key}" for key in CLIENT_KEYS)
CLIENT_NAMES = (
    BOOTSTRAP_SERVERS,
    CLUSTER_ID,
    API_TIMEOUT,
    REQUEST_TIMEOUT,
    CONNECT_TIMEOUT,
    MAX_REQUEST_SIZE,
    *SECURITY_NAMES,
)
READ_NAMES = (
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxOffsetsPerTrigger",
    "maxBytesPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "includeControlRecords",
    "view",
    READ_FROM,
    RACK,
)
WRITE_NAMES = ("txnAppId", "txnVersion", "failOnWriteConflict", "readColumns")
_OF_SPARK = ("checkpointLocation", "queryName", "owner", "provider")
"""Options that Spark adds, for a sink or a table."""

_OF_FILES = ("path", "paths", "location", "external")
"""Options that Spark makes of the path of a read, a write or a table."""

STREAM_ONLY = ("maxOffsetsPerTrigger", "maxBytesPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
BATCH_ONLY = ("endingOffsets", "endingTimestamp", "view")
"""The options of reads that only streams, or only batches, can have."""

_DEFAULT_CONNECT_TIMEOUT_MS = 10_000
_DEFAULT_TRIGGER_DELAY_MS = 15 * 60 * 1000
_PREFIX = "kraft."
_LIKENESS = 0.65
"""The ratio of difflib from which on a name is taken for a misspelt option: maxOffsets and maxOffsetsPerTrigger have
0.67, auto.offset.reset and startingOffsets, which differ, have 0.56."""


def check_names(options: Options) -> None:
    """Check that all names are options of this source or of Spark.

    Raises:
        ConfigError: a name is not an option; says why, or which option is similar, or which options exist.
    """
    known = {name.lower(): name for name in (CONFIG_FILE, *CLIENT_NAMES, *READ_NAMES, *WRITE_NAMES)}
    for name in options:
        lowered = name.lower()
        if lowered in known or lowered.startswith("option.") or lowered in {spark.lower() for spark in _OF_SPARK}:
            continue
        if lowered in _OF_FILES:
            raise ConfigError(
                f"option {name}: a log has no path, because {BOOTSTRAP_SERVERS} says where it is; remove the path of "
                "load() or save(), and LOCATION or EXTERNAL from a table"
            )
        why = why_not(name)
        if why is not None:
            raise ConfigError(f"option {name} of Kafka does not exist here: {why}")
        meant = _nearest(lowered, known)
        hint = f"did you mean {meant}?" if meant else f"expected one of {', '.join(sorted(known.values()))}"
        raise ConfigError(f"unknown option {name}: {hint}")


def _nearest(lowered: str, known: Mapping[str, str]) -> str | None:
    """Return the option with the most similar name; None if no name is similar enough."""
    # The prefix is removed, because it would make many names similar to each other.
    by_bare_name = {name.removeprefix(_PREFIX): spelt for name, spelt in known.items()}
    near = difflib.get_close_matches(lowered.removeprefix(_PREFIX), by_bare_name, n=1, cutoff=_LIKENESS)
    return by_bare_name[near[0]] if near else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read.

    Fields:
        client: settings of its client.
        starting_offsets, ending_offsets: None if not given.
        starting_timestamp_ms, ending_timestamp_ms: used instead of the offsets; None if not given.
        latest_if_no_match: start at the end if no record has `starting_timestamp_ms` or later; otherwise that is an
            error.
        max_offsets_per_trigger, max_bytes_per_trigger, min_offsets_per_trigger: see `datasource.limits`; None if not
            given.
        max_trigger_delay_ms: how long a micro-batch waits for `min_offsets_per_trigger` rows.
        min_partitions, max_records_per_partition: None if not given.
        fail_on_data_loss: whether lost records end the query, or are skipped with a warning.
        include_headers, include_control_records: whether the read has these columns.
        view: all records, or the newest of each key.
    """

    client: ClientSettings
    starting_offsets: Bound | None
    ending_offsets: Bound | None
    starting_timestamp_ms: int | None
    ending_timestamp_ms: int | None
    latest_if_no_match: bool
    max_offsets_per_trigger: int | None
    max_bytes_per_trigger: int | None
    min_offsets_per_trigger: int | None
    max_trigger_delay_ms: int
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    include_control_records: bool
    view: View

    @classmethod
    def of(cls, options: Options) -> ReadOptions:
        """Return the options of a read.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_names(options, WRITE_NAMES, "is for writes")
        starts_before_now = _get(options, "startingTimestamp", lambda _name, value: is_relative(value), False)
        read = cls(
            client=replace(
                _client_settings(options),
                read_from=_get(options, READ_FROM, read_from, ReadFrom.LEADER),
                rack=_get(options, RACK, not_empty, None),
            ),
            starting_offsets=_get(options, "startingOffsets", starting_offsets, None),
            ending_offsets=_get(options, "endingOffsets", ending_offsets, None),
            starting_timestamp_ms=_get(options, "startingTimestamp", timestamp, None),
            ending_timestamp_ms=_get(options, "endingTimestamp", timestamp, None),
            latest_if_no_match=_get(options, "startingOffsetsByTimestampStrategy", strategy, starts_before_now),
            max_offsets_per_trigger=_get(options, "maxOffsetsPerTrigger", at_least(1), None),
            max_bytes_per_trigger=_get(options, "maxBytesPerTrigger", at_least(1), None),
            min_offsets_per_trigger=_get(options, "minOffsetsPerTrigger", at_least(1), None),
            max_trigger_delay_ms=_get(options, "maxTriggerDelay", duration_ms, _DEFAULT_TRIGGER_DELAY_MS),
            min_partitions=_get(options, "minPartitions", at_least(1), None),
            max_records_per_partition=_get(options, "maxRecordsPerPartition", at_least(1), None),
            fail_on_data_loss=_get(options, "failOnDataLoss", truth, True),
            include_headers=_get(options, "includeHeaders", truth, False),
            include_control_records=_get(options, "includeControlRecords", truth, False),
            view=_get(options, "view", view, View.LOG),
        )
        if read.starting_timestamp_ms is None and read.ending_timestamp_ms is None:
            _check_order("startingOffsets", read.starting_offsets, "endingOffsets", read.ending_offsets)
        _check_order("startingTimestamp", read.starting_timestamp_ms, "endingTimestamp", read.ending_timestamp_ms)
        _check_trigger(options, read)
        if (read.client.read_from is ReadFrom.NEAREST) != (read.client.rack is not None):
            raise ConfigError(f"expected both {READ_FROM}=nearest and {RACK}: the rack whose nodes serve the read")
        return read

    def check_for_batch(self) -> None:
        """Check that no option is for streams only.

        Raises:
            ConfigError: names the option.
        """
        for name, value in (
            ("maxOffsetsPerTrigger", self.max_offsets_per_trigger),
            ("maxBytesPerTrigger", self.max_bytes_per_trigger),
            ("minOffsetsPerTrigger", self.min_offsets_per_trigger),
        ):
            if value is not None:
                raise ConfigError(f"{name} is for streams only: a batch read has no triggers")
        if self.starting_offsets is Place.LATEST and self.starting_timestamp_ms is None:
            raise ConfigError("startingOffsets=latest is for streams only: a batch read from the end is empty")
        if self.view is View.LATEST:
            self._check_view()

    def _check_view(self) -> None:
        if self.starting_timestamp_ms is not None or self.starting_offsets not in (None, Place.EARLIEST):
            raise ConfigError(
                "view=latest reads the whole log: remove startingOffsets and startingTimestamp; endingOffsets and "
                "endingTimestamp say as of when"
            )
        if self.max_records_per_partition is not None:
            raise ConfigError(
                "maxRecordsPerPartition splits a read by offsets, view=latest by keys: set minPartitions instead"
            )
        if self.include_control_records:
            raise ConfigError("view=latest has no control records: remove includeControlRecords")

    def check_for_stream(self) -> None:
        """Check that no option is for batches only.

        Raises:
            ConfigError: names the option.
        """
        for name, value in (("endingOffsets", self.ending_offsets), ("endingTimestamp", self.ending_timestamp_ms)):
            if value is not None:
                raise ConfigError(f"{name} is for batch reads only: a stream has no end")
        if self.view is View.LATEST:
            raise ConfigError("view=latest is for batch reads only: a stream has each record as it comes")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of a write.

    Fields:
        client: settings of its client.
        key: the key that the user gives; None for that of the query or of the write.
        fail_on_write_conflict: whether a write whose key is in the log with other rows is an error, or counts as
            written, with a warning.
        read_columns: what becomes of the columns `offset`, `timestamp` and `epoch`.
        checkpoint_location, query_name: options of Spark, for a stream; None if not given.
    """

    client: ClientSettings
    key: WriteKey | None
    fail_on_write_conflict: bool
    read_columns: ReadColumns
    checkpoint_location: str | None
    query_name: str | None

    @classmethod
    def of(cls, options: Options) -> WriteOptions:
        """Return the options of a write.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_names(options, READ_NAMES, "is for reads")
        app_id = _get(options, "txnAppId", not_empty, None)
        version = _get(options, "txnVersion", at_least(0), None)
        if (app_id is None) != (version is None):
            raise ConfigError("expected both txnAppId and txnVersion: name of the writer, and number of its write")
        try:
            key = WriteKey(app_id, version) if app_id is not None and version is not None else None
        except ValueError as error:
            raise ConfigError(f"txnVersion: {error}") from error
        return cls(
            client=_client_settings(options),
            key=key,
            fail_on_write_conflict=_get(options, "failOnWriteConflict", truth, True),
            read_columns=_get(options, "readColumns", read_columns_choice, ReadColumns.REFUSE),
            checkpoint_location=_get(options, "checkpointLocation", text, None),
            query_name=_get(options, "queryName", text, None),
        )

    def check_for_stream(self) -> None:
        """Check that no option is for batches only.

        Raises:
            ConfigError: names the option.
        """
        if self.key is not None:
            raise ConfigError("txnAppId is for batch writes and foreachBatch only: a stream's key is the query's id")


def _client_settings(options: Options) -> ClientSettings:
    servers: tuple[Endpoint, ...] = _get(options, BOOTSTRAP_SERVERS, addresses, ())
    if not servers:
        raise ConfigError(
            f"option {BOOTSTRAP_SERVERS} is missing: expected host:port,..., as an option or in the file that "
            f"the environment variable KRAFT_CONFIG names, or the option {CONFIG_FILE}"
        )
    return ClientSettings(
        bootstrap_servers=servers,
        cluster_id=_get(options, CLUSTER_ID, not_empty, None),
        api_timeout_ms=_get(options, API_TIMEOUT, at_least(1), DEFAULT_API_TIMEOUT_MS),
        request_timeout_ms=_get(options, REQUEST_TIMEOUT, at_least(1), DEFAULT_REQUEST_TIMEOUT_MS),
        connect_timeout_ms=_get(options, CONNECT_TIMEOUT, at_least(1), _DEFAULT_CONNECT_TIMEOUT_MS),
        max_request_bytes=_get(options, MAX_REQUEST_SIZE, request_size, DEFAULT_MAX_REQUEST_BYTES),
        security=_client_security(options),
    )


def _client_security(options: Options) -> ClientSecurity | None:
    """Return how connections are secured; None if no option says so."""
    found = ((name, _get(options, name, text, None)) for name in SECURITY_NAMES)
    given = {name.removeprefix(_PREFIX): value for name, value in found if value is not None}
    return client_security(given, named=lambda key: f"{_PREFIX}{key}") if given else None


def _get(options: Options, name: str, parse: Parse[Value], default: Value) -> Value:
    """Return the parsed value of an option, whose name may be in upper or lower case; the default without one."""
    for given, value in options.items():
        if given.lower() == name.lower():
            return parse(name, value.strip())
    return default


def _check_trigger(options: Options, read: ReadOptions) -> None:
    least, most = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise ConfigError(f"minOffsetsPerTrigger={least} is above maxOffsetsPerTrigger={most}: expected at most that")
    if least is None and _get(options, "maxTriggerDelay", text, None) is not None:
        raise ConfigError("maxTriggerDelay is only used with minOffsetsPerTrigger: set both, or none")


def _check_order(start_name: str, start: Any, end_name: str, end: Any) -> None:
    if isinstance(start, int) and isinstance(end, int) and start > end >= 0:
        raise ConfigError(f"{start_name}={start} is after {end_name}={end}: expected a start up to the end")


def _refuse_names(options: Options, names: Iterable[str], reason: str) -> None:
    refused = {name.lower(): name for name in names}
    for given in options:
        if given.lower() in refused:
            raise ConfigError(f"option {refused[given.lower()]} {reason}")
