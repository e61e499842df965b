"""A read that is written: its columns `offset`, `timestamp` and `epoch` are refused, dropped, or kept as timestamps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from raft.local import LocalQuorum
from tests.java.librdkafka import consume, settings_of
from tests.spark.frames import Frames
from tests.spark.quorums import local_quorum
from tests.spark.streams import into_log, run_to_end

pytestmark = pytest.mark.spark

LONG_AGO = datetime(2001, 9, 9, 1, 46, 40, 123_456, tzinfo=UTC)
KEEP = {"readColumns": "keepTimestamps"}
MANY = 4_000
"""Rows of 400 bytes that a task appends as a part of the write, in more than one batch."""


def seen_by_kafka(quorum: LocalQuorum) -> list[tuple[bytes | None, int]]:
    """Return value and timestamp of each record that librdkafka's consumer reads."""
    settings = {"isolation.level": "read_committed", **settings_of(quorum.client_properties)}
    records = consume(quorum.bootstrap_servers, None, settings)
    return [(record.value, record.timestamp_ms) for record in records]


def timed(frames: Frames, count: int, *, length: int = 4) -> DataFrame:
    """Return rows in the columns of a read, whose times go back and forth."""
    rows = [
        (f"k{at}", f"{at:0{length}}", at + 100, LONG_AGO + timedelta(minutes=at * (-1) ** at), 7) for at in range(count)
    ]
    return frames.rows(rows, "key string, value string, offset bigint, timestamp timestamp, epoch int").coalesce(1)


@pytest.mark.parametrize(
    ("count", "length"), [(20, 4), (MANY, 400)], ids=["as one batch", "as a part of several batches"]
)
def test_log_is_copied_with_its_timestamps_to_another_quorum(
    lone_frames: Frames, tmp_path: Path, count: int, length: int
) -> None:
    lone_frames.write(timed(lone_frames, count, length=length), **KEEP)
    with local_quorum(lone_frames.spark, tmp_path / "another", voters=1) as quorum:
        copied = Frames.of(lone_frames.spark, quorum)

        copied.write(lone_frames.read().orderBy("offset").coalesce(1), **KEEP)

        first, second = (
            [tuple(row) for row in frames.read().orderBy("offset").select("key", "value", "timestamp").collect()]
            for frames in (lone_frames, copied)
        )
        by_kafka = seen_by_kafka(quorum)
    assert first == second
    assert len(second) == count
    # A record's timestamp has no part of a millisecond.
    expected = [LONG_AGO.replace(microsecond=123_000) + timedelta(minutes=at * (-1) ** at) for at in range(count)]
    assert [row[2].astimezone(UTC) for row in second] == expected
    assert by_kafka == [
        (f"{at:0{length}}".encode(), round(time.timestamp() * 1000)) for at, time in enumerate(expected)
    ]


def test_start_by_time_finds_a_kept_timestamp(lone_frames: Frames) -> None:
    lone_frames.write(lone_frames.values(["of now"]))
    lone_frames.write(timed(lone_frames, 10), **KEEP)
    wanted_ms = int((LONG_AGO + timedelta(minutes=5)).timestamp() * 1000)

    read = lone_frames.read(startingTimestamp=wanted_ms).selectExpr("cast(value as string) value").collect()

    # The record of now is the first one with this time or a later one.
    assert [row.value for row in read] == ["of now", *numbered_values(10)]


def numbered_values(count: int) -> list[str]:
    return [f"{at:04}" for at in range(count)]


def test_columns_of_a_read_are_dropped_when_the_option_says_so(frames: Frames) -> None:
    start = frames.end()

    frames.write(timed(frames, 3), readColumns="drop")

    rows = frames.read(startingOffsets=start).orderBy("offset").collect()
    assert [(row.offset, row.value.decode()) for row in rows] == list(enumerate(numbered_values(3), start))
    assert {row.timestamp.year for row in rows}.isdisjoint({2001}), "the time of the write"


def test_stream_keeps_timestamps(frames: Frames, tmp_path: Path) -> None:
    start = frames.end()
    frames.write(timed(frames, 5), **KEEP)
    stream = frames.stream(startingOffsets=start, maxOffsetsPerTrigger=5)
    with local_quorum(frames.spark, tmp_path / "another", voters=1) as quorum:
        run_to_end(into_log(stream, quorum.bootstrap_servers, tmp_path / "checkpoint", **KEEP).start())

        copied = Frames.of(frames.spark, quorum).read().orderBy("offset").collect()

    assert [row.value.decode() for row in copied] == numbered_values(5)
    assert {row.timestamp.astimezone(UTC).year for row in copied} == {2001}


def test_headers_are_copied_and_control_records_are_not(lone_frames: Frames, tmp_path: Path) -> None:
    headers = "array<struct<key:string,value:binary>>"
    lone_frames.write(lone_frames.rows([("v", [("h", b"1")])], f"value string, headers {headers}"))
    log = lone_frames.read(includeHeaders=True, includeControlRecords=True)
    with local_quorum(lone_frames.spark, tmp_path / "another", voters=1) as quorum:
        copied = Frames.of(lone_frames.spark, quorum)

        with pytest.raises(PySparkException) as refusal:
            copied.write(log, **KEEP)
        copied.write(log.where("control is null").drop("control"), **KEEP)

        (row,) = copied.read(includeHeaders=True).collect()
    assert "column control marks the protocol's own records, which are not copied" in str(refusal.value)
    assert (row.value, row.headers[0].key, row.headers[0].value) == (b"v", "h", b"1")


@pytest.mark.parametrize(
    ("time", "message"),
    [
        pytest.param("cast(null as timestamp)", "the timestamp of a row is null", id="null"),
        pytest.param(
            "timestamp '1969-12-31 23:59:59.999999 UTC'",
            "the timestamp of a row is -1 us after 1970-01-01: expected that time or later",
            id="before 1970",
        ),
        pytest.param("timestamp '2999-01-01 00:00:00 UTC'", "the quorum refuses a timestamp", id="far ahead"),
        pytest.param("now()", "", id="now"),
    ],
)
def test_timestamp_is_refused_when_no_record_can_have_it(
    lone_frames: Frames, tmp_path: Path, time: str, message: str
) -> None:
    # The other quorum of these tests takes any time.
    with local_quorum(lone_frames.spark, tmp_path / "another", voters=1) as quorum:
        frames = Frames.of(lone_frames.spark, quorum)
        rows = frames.values(["x"]).selectExpr("value", f"{time} as timestamp")

        refusal = ""
        try:
            frames.write(rows, **KEEP)
        except PySparkException as error:
            refusal = str(error)

        count = frames.read().count()
    assert message in refusal
    assert (refusal == "", count) == ((True, 1) if time == "now()" else (False, 0))
