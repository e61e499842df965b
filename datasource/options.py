"""The options of reads and writes: their names, values and combinations are checked without the network."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from datasource.kafka_options import why_not
from raft.client import ClientSettings, WriteKey
from raft.client.settings import (
    DEFAULT_API_TIMEOUT_MS,
    DEFAULT_MAX_REQUEST_BYTES,
    DEFAULT_REQUEST_TIMEOUT_MS,
)
from raft.config.values import addresses, refuse, truth, whole_number
from raft.errors import ConfigError
from raft.types import LARGEST_BATCH_BYTES, Endpoint

Value = TypeVar("Value")
Parse = Callable[[str, str], Value]
Options = Mapping[str, str]

BOOTSTRAP_SERVERS = "kraft.bootstrap.servers"
CLUSTER_ID = "kraft.cluster.id"
API_TIMEOUT = "kraft.default.api.timeout.ms"
REQUEST_TIMEOUT = "kraft.request.timeout.ms"
MAX_REQUEST_SIZE = "kraft.max.request.size"

_CLIENT = (BOOTSTRAP_SERVERS, CLUSTER_ID, API_TIMEOUT, REQUEST_TIMEOUT, MAX_REQUEST_SIZE)
_READ = (
    "startingOffsets",
    "endingOffsets",
    "startingTimestamp",
    "endingTimestamp",
    "startingOffsetsByTimestampStrategy",
    "maxOffsetsPerTrigger",
    "minPartitions",
    "maxRecordsPerPartition",
    "failOnDataLoss",
    "includeHeaders",
    "includeControlRecords",
)
_WRITE = ("txnAppId", "txnVersion", "failOnWriteConflict")
_OF_SPARK = ("checkpointLocation", "queryName", "path", "owner", "provider")
"""Options that Spark adds, for a sink or a table."""

_LAST_MS = (1 << 63) - 1
_PREFIX = "kraft."
_LIKENESS = 0.65
"""The ratio of difflib from which on a name is taken for a misspelt option: maxOffsets and maxOffsetsPerTrigger have
0.67, auto.offset.reset and startingOffsets, which differ, have 0.56."""


def check_names(options: Options) -> None:
    """Check that all names are options of this source or of Spark.

    Raises:
        ConfigError: a name is not an option; says why, or which option is similar, or which options exist.
    """
    known = {name.lower(): name for name in (*_CLIENT, *_READ, *_WRITE)}
    for name in options:
        lowered = name.lower()
        if lowered in known or lowered.startswith("option.") or lowered in {spark.lower() for spark in _OF_SPARK}:
            continue
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


class Place(Enum):
    """The start or the end of the log."""

    EARLIEST = "earliest"
    LATEST = "latest"


Bound = Place | int
"""The start or end of a read: a place, or an offset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read.

    Fields:
        client: settings of its client.
        starting_offsets, ending_offsets: None if not given.
        starting_timestamp_ms, ending_timestamp_ms: used instead of the offsets; None if not given.
        latest_if_no_match: start at the end if no record has `starting_timestamp_ms` or later; otherwise that is an
            error.
        max_offsets_per_trigger, min_partitions, max_records_per_partition: None if not given.
        fail_on_data_loss: whether lost records end the query, or are skipped with a warning.
        include_headers, include_control_records: whether the read has these columns.
    """

    client: ClientSettings
    starting_offsets: Bound | None
    ending_offsets: Bound | None
    starting_timestamp_ms: int | None
    ending_timestamp_ms: int | None
    latest_if_no_match: bool
    max_offsets_per_trigger: int | None
    min_partitions: int | None
    max_records_per_partition: int | None
    fail_on_data_loss: bool
    include_headers: bool
    include_control_records: bool

    @classmethod
    def of(cls, options: Options) -> ReadOptions:
        """Return the options of a read.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_names(options, _WRITE, "is for writes")
        read = cls(
            client=_client_settings(options),
            starting_offsets=_get(options, "startingOffsets", _starting_offsets, None),
            ending_offsets=_get(options, "endingOffsets", _ending_offsets, None),
            starting_timestamp_ms=_get(options, "startingTimestamp", _time, None),
            ending_timestamp_ms=_get(options, "endingTimestamp", _time, None),
            latest_if_no_match=_get(options, "startingOffsetsByTimestampStrategy", _strategy, False),
            max_offsets_per_trigger=_get(options, "maxOffsetsPerTrigger", _at_least(1), None),
            min_partitions=_get(options, "minPartitions", _at_least(1), None),
            max_records_per_partition=_get(options, "maxRecordsPerPartition", _at_least(1), None),
            fail_on_data_loss=_get(options, "failOnDataLoss", truth, True),
            include_headers=_get(options, "includeHeaders", truth, False),
            include_control_records=_get(options, "includeControlRecords", truth, False),
        )
        if read.starting_timestamp_ms is None and read.ending_timestamp_ms is None:
            _check_order("startingOffsets", read.starting_offsets, "endingOffsets", read.ending_offsets)
        _check_order("startingTimestamp", read.starting_timestamp_ms, "endingTimestamp", read.ending_timestamp_ms)
        return read

    def check_for_batch(self) -> None:
        """Check that no option is for streams only.

        Raises:
            ConfigError: names the option.
        """
        if self.max_offsets_per_trigger is not None:
            raise ConfigError("maxOffsetsPerTrigger is for streams only: a batch read has no triggers")
        if self.starting_offsets is Place.LATEST and self.starting_timestamp_ms is None:
            raise ConfigError("startingOffsets=latest is for streams only: a batch read from the end is empty")

    def check_for_stream(self) -> None:
        """Check that no option is for batches only.

        Raises:
            ConfigError: names the option.
        """
        for name, value in (("endingOffsets", self.ending_offsets), ("endingTimestamp", self.ending_timestamp_ms)):
            if value is not None:
                raise ConfigError(f"{name} is for batch reads only: a stream has no end")


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of a write.

    Fields:
        client: settings of its client.
        key: the key that the user gives; None for that of the query or of the write.
        fail_on_write_conflict: whether a write whose key is in the log with other rows is an error, or counts as
            written, with a warning.
        checkpoint_location, query_name: options of Spark, for a stream; None if not given.
    """

    client: ClientSettings
    key: WriteKey | None
    fail_on_write_conflict: bool
    checkpoint_location: str | None
    query_name: str | None

    @classmethod
    def of(cls, options: Options) -> WriteOptions:
        """Return the options of a write.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_names(options, _READ, "is for reads")
        app_id = _get(options, "txnAppId", _not_empty, None)
        version = _get(options, "txnVersion", _at_least(0), None)
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
            checkpoint_location=_get(options, "checkpointLocation", _text, None),
            query_name=_get(options, "queryName", _text, None),
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
        raise ConfigError(f"option {BOOTSTRAP_SERVERS} is missing: expected host:port,...")
    return ClientSettings(
        bootstrap_servers=servers,
        cluster_id=_get(options, CLUSTER_ID, _not_empty, None),
        api_timeout_ms=_get(options, API_TIMEOUT, _at_least(1), DEFAULT_API_TIMEOUT_MS),
        request_timeout_ms=_get(options, REQUEST_TIMEOUT, _at_least(1), DEFAULT_REQUEST_TIMEOUT_MS),
        max_request_bytes=_get(options, MAX_REQUEST_SIZE, _request_size, DEFAULT_MAX_REQUEST_BYTES),
    )


def _get(options: Options, name: str, parse: Parse[Value], default: Value) -> Value:
    """Return the parsed value of an option, whose name may be in upper or lower case; the default without one."""
    for given, value in options.items():
        if given.lower() == name.lower():
            return parse(name, value.strip())
    return default


def _at_least(least: int) -> Parse[int]:
    return lambda name, value: whole_number(name, value, at_least=least)


def _request_size(name: str, value: str) -> int:
    return whole_number(name, value, at_least=1, at_most=LARGEST_BATCH_BYTES)


def _time(name: str, value: str) -> int:
    return whole_number(name, value, at_least=0, at_most=_LAST_MS)


def _text(_name: str, value: str) -> str:
    return value


def _not_empty(name: str, value: str) -> str:
    if not value:
        raise refuse(name, value, "a text that is not empty")
    return value


def _starting_offsets(name: str, value: str) -> Bound:
    return _bound(name, value, (Place.EARLIEST, Place.LATEST))


def _ending_offsets(name: str, value: str) -> Bound:
    return _bound(name, value, (Place.LATEST,))


def _bound(name: str, value: str, places: tuple[Place, ...]) -> Bound:
    for place in places:
        if value.lower() == place.value:
            return place
    if value.isdecimal():
        return int(value)
    raise refuse(name, value, f"{', '.join(place.value for place in places)} or an offset of 0 or more")


def _strategy(name: str, value: str) -> bool:
    if value.lower() not in ("error", "latest"):
        raise refuse(name, value, "error or latest")
    return value.lower() == "latest"


def _check_order(start_name: str, start: Any, end_name: str, end: Any) -> None:
    if isinstance(start, int) and isinstance(end, int) and start > end:
        raise ConfigError(f"{start_name}={start} is after {end_name}={end}: expected a start up to the end")


def _refuse_names(options: Options, names: Iterable[str], reason: str) -> None:
    refused = {name.lower(): name for name in names}
    for given in options:
        if given.lower() in refused:
            raise ConfigError(f"option {refused[given.lower()]} {reason}")
