"""Batches of another client: librdkafka, with each of its codecs, with timestamps and headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

import confluent_kafka
import pytest

from raft.local import LocalQuorum
from tests.java.librdkafka import settings_of
from tests.spark.frames import Frames, numbered

pytestmark = pytest.mark.spark

FAR_AHEAD = datetime(2090, 1, 1, tzinfo=UTC)
"""So far in the future that only records of this module have such timestamps."""


def milliseconds(time: datetime) -> int:
    return int(time.timestamp() * 1000)


Settings = dict[str, object]


@pytest.fixture
def settings(quorum: LocalQuorum) -> Settings:
    """Those of librdkafka, for the quorum of the frames."""
    return {"bootstrap.servers": quorum.bootstrap_servers, **settings_of(quorum.client_properties)}


def produce(settings: Settings, values: Mapping[str, datetime]) -> None:
    """Produce records with key and headers, in one batch."""
    failed: list[object] = []
    producer = confluent_kafka.Producer({"linger.ms": 500, **settings})
    for value, time in values.items():
        producer.produce(
            "__cluster_metadata",
            key=f"key of {value}",
            value=value * 20,
            headers=[("by", b"librdkafka"), ("by", None)],
            timestamp=milliseconds(time),
            on_delivery=lambda error, _message: failed.append(error) if error is not None else None,
        )
    assert (producer.flush(20), failed) == (0, [])


def timed(values: Iterable[str], start: datetime) -> dict[str, datetime]:
    """Return a timestamp for each value, each a minute after the one before."""
    return {value: start + timedelta(minutes=at) for at, value in enumerate(values)}


def test_records_are_read_with_every_codec(frames: Frames, settings: Settings) -> None:
    start = frames.end()
    produced: dict[str, datetime] = {}
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        batch = timed(numbered(codec, 20), datetime(2020, 2, 29, 23, 59, 59, 999_000, tzinfo=UTC))
        produce({**settings, "compression.type": codec}, batch)
        produced |= batch

    rows = frames.read(startingOffsets=start, includeHeaders=True, minPartitions=7).orderBy("offset").collect()

    assert [row.offset for row in rows] == list(range(start, start + len(produced)))
    # Spark returns times in the time zone of this machine.
    assert [(row.key.decode(), row.value.decode(), row.timestamp.astimezone(UTC)) for row in rows] == [
        (f"key of {value}", value * 20, time) for value, time in produced.items()
    ]
    assert {tuple(map(tuple, row.headers)) for row in rows} == {(("by", b"librdkafka"), ("by", None))}


@pytest.mark.kafka_suite(2, 3, 4)
def test_timestamps_choose_where_a_batch_starts_and_ends(frames: Frames, settings: Settings) -> None:
    start = frames.end()
    values = numbered("timed", 10)
    produce(settings, timed(values, FAR_AHEAD))

    def between(first: float | None, after: float | None, **options: object) -> list[int]:
        for name, minutes in (("startingTimestamp", first), ("endingTimestamp", after)):
            if minutes is not None:
                options[name] = milliseconds(FAR_AHEAD + timedelta(minutes=minutes))
        return sorted(row.offset - start for row in frames.read(**options).select("offset").collect())

    assert between(2, 5) == [2, 3, 4]
    assert between(1.5, None) == [2, 3, 4, 5, 6, 7, 8, 9]
    assert between(9, 60) == [9], "no record reaches the end timestamp, so the range is open"
    assert between(8, None, startingOffsets=0) == [8, 9], "timestamps take precedence over offsets"
    assert between(3, None, endingOffsets=start + 4) == [3]
    assert between(60, None, startingOffsetsByTimestampStrategy="latest") == []


@pytest.mark.parametrize(
    "time_ms",
    [
        pytest.param(-1, id="no time"),
        pytest.param(253_402_300_800_000, id="year 10000"),
        pytest.param(9_223_372_036_854_775, id="the last that Spark has"),
    ],
)
def test_record_is_read_when_its_timestamp_is_beyond_the_range_of_python(
    frames: Frames, settings: Settings, time_ms: int
) -> None:
    start = frames.end()
    producer = confluent_kafka.Producer(settings)
    producer.produce("__cluster_metadata", value=f"at {time_ms}", timestamp=time_ms)
    assert producer.flush(20) == 0

    rows = frames.read(startingOffsets=start).selectExpr("cast(value as string)", "unix_millis(timestamp)").collect()

    assert [tuple(row) for row in rows] == [(f"at {time_ms}", time_ms)]
