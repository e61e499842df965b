"""The table of the options of `format("kraft")`, a row for each, and the values that a read or a write has of them.

All names, values and combinations are checked without the network. The documents and the types of the options are made
from the table (`scripts.options_table`), or compared with it (`kraft_spark.option_types`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from datasource.client_options import CLIENT, CONFIG_FILE, RACK, READ_FROM, SECURITY, client_settings
from datasource.option import Option, Options, Use, option, parse_given, value_of
from datasource.option_values import (
    Bound,
    NamedOffset,
    ReadColumns,
    View,
    duration_ms,
    ending_offsets,
    is_relative,
    not_empty,
    starting_offsets,
    strategy,
    timestamp,
)
from raft.client import ClientSettings, ReadFrom, WriteKey
from raft.config.property import as_text, rows
from raft.config.values import at_least, choice_of, truth
from raft.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The options of a read.

    Fields:
        client: settings of its client.
        max_offsets_per_trigger, max_bytes_per_trigger, min_offsets_per_trigger: see `datasource.limits` too.
        latest_if_no_match: start at the end if no record has `starting_timestamp_ms` or later; otherwise that is an
            error.

    The other fields have the values of their options.
    """

    client: ClientSettings
    # A row has two lines: what programs read, and what people read.
    # fmt: off
    starting_offsets: Bound | None = option("startingOffsets", starting_offsets, None, Use.READ,
        "start of a new query; `latest` is for streams and their default, `earliest` is the default of a batch; -n "
        "starts n rows before the end")
    ending_offsets: Bound | None = option("endingOffsets", ending_offsets, None, Use.BATCH,
        "end of a batch, exclusive", "latest")
    starting_timestamp_ms: int | None = option("startingTimestamp", timestamp, None, Use.READ,
        'start in milliseconds since 1970, or a duration before now such as "-10 minutes"; used instead of '
        "startingOffsets")
    ending_timestamp_ms: int | None = option("endingTimestamp", timestamp, None, Use.BATCH,
        "end of a batch, exclusive, in the same forms as startingTimestamp; used instead of endingOffsets")
    latest_if_no_match: bool = option("startingOffsetsByTimestampStrategy", strategy, False, Use.READ,
        "`latest`: start at the end if no record has startingTimestamp or a later one",
        "error, and latest for a duration before now")
    max_offsets_per_trigger: int | None = option("maxOffsetsPerTrigger", at_least(1), None, Use.STREAM,
        "maximum rows in a micro-batch", "all")
    max_bytes_per_trigger: int | None = option("maxBytesPerTrigger", at_least(1), None, Use.STREAM,
        "maximum bytes of the record batches in a micro-batch, which has at least one", "all")
    min_offsets_per_trigger: int | None = option("minOffsetsPerTrigger", at_least(1), None, Use.STREAM,
        "a micro-batch waits for this number of rows, or for maxTriggerDelay")
    max_trigger_delay_ms: int = option("maxTriggerDelay", duration_ms, 15 * 60 * 1000, Use.STREAM,
        'longest wait for minOffsetsPerTrigger, in milliseconds or with a unit, such as "15m"', "15 minutes")
    min_partitions: int | None = option("minPartitions", at_least(1), None, Use.READ,
        "least number of tasks of a read", "1")
    max_records_per_partition: int | None = option("maxRecordsPerPartition", at_least(1), None, Use.READ,
        "most records for a task", "all")
    fail_on_data_loss: bool = option("failOnDataLoss", truth, True, Use.READ,
        "true: records that are missing or cannot be decoded end the query; false: they are skipped with a warning")
    include_headers: bool = option("includeHeaders", truth, False, Use.READ, "add the column `headers`")
    include_control_records: bool = option("includeControlRecords", truth, False, Use.READ,
        "add the protocol's own records, with the column `control`")
    view: View = option("view", choice_of(View, "log or latest"), View.LOG, Use.BATCH,
        "`latest`: only the newest record of each key as of the end of the read, none of a key whose newest value is "
        "null, and none without a key; minPartitions tasks read the whole log, each with its share of the keys")
    # fmt: on

    @classmethod
    def of(cls, options: Options) -> ReadOptions:
        """Return the options of a read.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_other_uses(options, Use.READ)
        starts_before_now = is_relative(value_of(options, "startingTimestamp") or "")
        client = client_settings(options)
        read = cls(client=client, **{"latest_if_no_match": starts_before_now} | parse_given(options, rows(cls)))
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
        for row in self._given_for(Use.STREAM):
            raise ConfigError(f"{row.name} is for streams only: a batch read has no triggers")
        if self.starting_offsets is NamedOffset.LATEST and self.starting_timestamp_ms is None:
            raise ConfigError("startingOffsets=latest is for streams only: a batch read from the end is empty")
        if self.view is View.LATEST:
            self._check_view()

    def _check_view(self) -> None:
        if self.starting_timestamp_ms is not None or self.starting_offsets not in (None, NamedOffset.EARLIEST):
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
        if self.view is View.LATEST:
            raise ConfigError("view=latest is for batch reads only: a stream has each record as it comes")
        for row in self._given_for(Use.BATCH):
            raise ConfigError(f"{row.name} is for batch reads only: a stream has no end")

    def _given_for(self, use: Use) -> Iterator[Option]:
        """Yield the options of this use alone that do not have their default."""
        return (row for name, row in rows(type(self)).items() if row.uses is use and getattr(self, name) != row.default)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The options of a write.

    Fields:
        client: settings of its client.
        checkpoint_location, query_name: options of Spark, for a stream; None if not given.

    The other fields have the values of their options.
    """

    client: ClientSettings
    checkpoint_location: str | None
    query_name: str | None
    # fmt: off
    writer: str | None = option("txnAppId", not_empty, None, Use.WRITE,
        "name of the writer of a batch write; needs txnVersion", "a random name", is_for_one_use=True)
    version: int | None = option("txnVersion", at_least(0), None, Use.WRITE,
        "number of the write of this writer, which increases; needs txnAppId", is_for_one_use=True)
    fail_on_write_conflict: bool = option("failOnWriteConflict", truth, True, Use.WRITE,
        "true: a write whose key is in the log with other rows is an error; false: it counts as written, with a "
        "warning")
    read_columns: ReadColumns = option("readColumns", choice_of(ReadColumns), ReadColumns.REFUSE, Use.WRITE,
        "what becomes of the columns offset, timestamp and epoch, which only a read has; `keepTimestamps`: the "
        "records get the timestamps of the column")
    # fmt: on

    @classmethod
    def of(cls, options: Options) -> WriteOptions:
        """Return the options of a write.

        Raises:
            ConfigError: a value or a combination of options is wrong; says which, and what is expected.
        """
        _refuse_other_uses(options, Use.WRITE)
        write = cls(
            client=client_settings(options),
            checkpoint_location=value_of(options, "checkpointLocation"),
            query_name=value_of(options, "queryName"),
            **parse_given(options, rows(cls)),
        )
        if (write.writer is None) != (write.version is None):
            raise ConfigError("expected both txnAppId and txnVersion: name of the writer, and number of its write")
        try:
            _ = write.key
        except ValueError as error:
            raise ConfigError(f"txnVersion: {error}") from error
        return write

    @property
    def key(self) -> WriteKey | None:
        """The key that the user gives; None for that of the query or of the write."""
        return None if self.writer is None or self.version is None else WriteKey(self.writer, self.version)

    def check_for_stream(self) -> None:
        """Check that no option is for batches only.

        Raises:
            ConfigError: names the option.
        """
        if self.key is not None:
            raise ConfigError("txnAppId is for batch writes and foreachBatch only: a stream's key is the query's id")


# fmt: off
OPTIONS = (
    Option(CONFIG_FILE, as_text, None,
        "a properties file of the driver with the options that are not given, as `KRAFT_CONFIG` "
        "names one for all; KRAFT_CONFIG_PROVIDERS must allow it", is_for_one_use=True),
    *CLIENT.values(),
    *SECURITY.values(),
    *rows(ReadOptions).values(),
    *rows(WriteOptions).values(),
)
# fmt: on
"""The table."""

BY_LOWERED_NAME = {row.name.lower(): row for row in OPTIONS}


def _refuse_other_uses(options: Options, use: Use) -> None:
    for name in options:
        row = BY_LOWERED_NAME.get(name.lower())
        if row is not None and not row.uses & use:
            raise ConfigError(f"option {row.name} is for {'writes' if row.uses is Use.WRITE else 'reads'}")


def _check_trigger(options: Options, read: ReadOptions) -> None:
    least, most = read.min_offsets_per_trigger, read.max_offsets_per_trigger
    if least is not None and most is not None and least > most:
        raise ConfigError(f"minOffsetsPerTrigger={least} is above maxOffsetsPerTrigger={most}: expected at most that")
    if least is None and value_of(options, "maxTriggerDelay") is not None:
        raise ConfigError("maxTriggerDelay is only used with minOffsetsPerTrigger: set both, or none")


def _check_order(start_name: str, start: Any, end_name: str, end: Any) -> None:
    if isinstance(start, int) and isinstance(end, int) and start > end >= 0:
        raise ConfigError(f"{start_name}={start} is after {end_name}={end}: expected a start up to the end")
