"""What the data source returns to Spark: a reader, a writer, or an object whose first call raises the error."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import BinaryType, IntegerType, StructType

from datasource.batch_reader import KraftBatchReader
from datasource.batch_writer import KraftBatchWriter
from datasource.option_values import ReadColumns
from datasource.refused_stream import RefusedStream
from datasource.source import KraftDataSource
from datasource.stream_reader import KraftStreamReader
from raft.errors import ConfigError

SERVERS = {"kraft.bootstrap.servers": "localhost:9093"}
COLUMNS = KraftDataSource(SERVERS).schema()


def test_stream_gets_a_reader() -> None:
    assert isinstance(KraftDataSource(SERVERS).streamReader(COLUMNS), KraftStreamReader)


@pytest.mark.parametrize(
    ("options", "schema", "kind", "message"),
    [
        pytest.param({}, COLUMNS, ConfigError, "kraft.bootstrap.servers is missing", id="table without options"),
        pytest.param(SERVERS | {"startingOffsets": "abc"}, COLUMNS, ConfigError, "startingOffsets=abc", id="value"),
        pytest.param(SERVERS | {"txnAppId": "a"}, COLUMNS, ConfigError, "txnAppId is for writes", id="of writes"),
        pytest.param(SERVERS | {"endingOffsets": "5"}, COLUMNS, ConfigError, "a stream has no end", id="of batches"),
        pytest.param(SERVERS, StructType().add("id", IntegerType()), ValueError, "has a fixed schema", id="schema"),
    ],
)
def test_stream_is_refused_at_its_first_call_and_not_before(
    options: dict[str, str], schema: StructType, kind: type[Exception], message: str
) -> None:
    """Spark's runner fails on an error of `streamReader`, and hides it by its own UnboundLocalError."""
    reader = KraftDataSource(options).streamReader(schema)

    assert isinstance(reader, RefusedStream)
    calls: list[Any] = [
        reader.initialOffset,
        reader.getDefaultReadLimit,
        reader.prepareForTriggerAvailableNow,
        lambda: reader.latestOffset({}, ReadAllAvailable()),
        lambda: reader.partitions({}, {}),
        lambda: reader.read(None),  # type: ignore[arg-type]  # refused whatever it is given
    ]
    for call in calls:
        with pytest.raises(kind, match=message):
            call()


@pytest.mark.parametrize("method", ["writer", "streamWriter"])
def test_column_that_is_there_twice_is_refused_before_any_row_is_read(method: str) -> None:
    twice = StructType().add("value", BinaryType()).add("value", BinaryType())

    with pytest.raises(ValueError, match="column value is given 2 times"):
        getattr(KraftDataSource(SERVERS), method)(schema=twice, overwrite=False)


def test_batch_gets_a_reader_and_a_writer() -> None:
    source = KraftDataSource(SERVERS)

    assert isinstance(source.reader(COLUMNS), KraftBatchReader)
    assert isinstance(source.writer(StructType().add("value", BinaryType()), overwrite=False), KraftBatchWriter)


def test_table_with_columns_of_its_own_is_not_read() -> None:
    with pytest.raises(
        ValueError, match=r"has a fixed schema, .*, or the columns of the statement that created the table"
    ):
        KraftDataSource(SERVERS).reader(StructType().add("value", BinaryType()))


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("writer", r'mode\("overwrite"\): a log is only appended to; expected mode\("append"\) or INSERT INTO'),
        ("streamWriter", r'outputMode\("complete"\): a log is only appended to; expected outputMode\("append"\)'),
    ],
)
def test_write_that_replaces_rows_is_refused(method: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(KraftDataSource(SERVERS), method)(schema=COLUMNS, overwrite=True)


@pytest.mark.parametrize("method", ["writer", "streamWriter"])
def test_copy_of_a_read_is_written_as_the_option_says(method: str) -> None:
    writer = getattr(KraftDataSource(SERVERS | {"readColumns": "keepTimestamps"}), method)(COLUMNS, overwrite=False)

    assert writer._options.read_columns is ReadColumns.KEEP_TIMESTAMPS
