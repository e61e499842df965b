"""Streams, sinks and views of a quorum that compacts its log, or lets it age, while they run (READ-7, READ-8)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from raft.client import Client
from raft.local import LocalQuorum
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from tests.node.harness.waiting import eventually
from tests.spark.frames import Frames
from tests.spark.quorums import kill, leader_of, local_quorum
from tests.spark.streams import Delivered, Input, into_log, wait_until

pytestmark = pytest.mark.spark

KEYS = 40
FILES = 12
ROWS_A_FILE = 100
SMALL = {
    "metadata.log.max.record.bytes.between.snapshots": "20000",
    "metadata.max.retention.bytes": "30000",
    "min.cleanable.dirty.ratio": "0.1",
}
# Two batches of `fill_until_cut` have less than 20 kB, three have more.
TOO_FEW_FOR_A_SNAPSHOT = 100
State = dict[str, str]


@pytest.fixture
def compacted(spark: SparkSession, tmp_path: Path) -> Iterator[LocalQuorum]:
    """A quorum of one voter that compacts its log after 20 kB."""
    settings = {"cleanup.policy": "compact", **SMALL}
    with local_quorum(spark, tmp_path / "compacted", voters=1, settings=settings) as quorum:
        yield quorum


def numbered_rows(first: int, count: int, draw: random.Random) -> list[tuple[str, str]]:
    """Return keys and values; each value has a number of its own, and the numbers rise."""
    return [(f"key-{draw.randrange(KEYS)}", f"{number:06}" + "." * 150) for number in range(first, first + count)]


def append(client: Client, rows: list[tuple[str, str]]) -> None:
    client.append(build_batch([Record(key=key.encode(), value=value.encode()) for key, value in rows]))


def cut_end(client: Client) -> int:
    """Return the end of the snapshot before the log; 0 for none."""
    return client.fetch(Offset(0)).compacted_end or 0


def fill_until_cut(client: Client, draw: random.Random, *, beyond: int, first: int) -> State:
    """Append rows until the log is compacted past an offset; return their newest values."""
    state: State = {}

    def is_cut() -> bool:
        nonlocal first
        rows = numbered_rows(first, 50, draw)
        append(client, rows)
        state.update(rows)
        first += len(rows)
        return cut_end(client) > beyond

    eventually(is_cut, f"a log that is compacted past offset {beyond}")
    return state


def last_cut_end(client: Client) -> int:
    """Return the end of the snapshot before the log, once the records behind it are too few for another one."""

    def look() -> int | None:
        cut = cut_end(client)
        return cut if client.last_stable_offset() - cut <= TOO_FEW_FOR_A_SNAPSHOT else None

    return eventually(look, "the last snapshot")


def state_of(rows: DataFrame) -> State:
    found = rows.selectExpr("cast(key as string)", "cast(value as string)", "offset").orderBy("offset").collect()
    return {key: value for key, value, _ in found if value is not None}


def view_of(frames: Frames, **options: object) -> State:
    rows = frames.read(view="latest", **options)
    found = rows.selectExpr("cast(key as string)", "cast(value as string)").collect()
    state = dict(map(tuple, found))
    assert len(state) == len(found), "one row for each key"
    return state


@pytest.mark.rule("READ-7", "SNAPSHOT-3")
def test_stream_and_sink_run_through_cuts_and_kills_and_nothing_is_doubled_or_wrong(
    spark: SparkSession, tmp_path: Path
) -> None:
    draw, source, rows = random.Random(7), Input(tmp_path / "input"), list[tuple[str, str]]()
    settings = {"cleanup.policy": "compact", **SMALL}
    with local_quorum(spark, tmp_path / "quorum", settings=settings) as quorum:
        frames = Frames.of(spark, quorum)
        delivered = Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "read")
        keyed = source.stream(spark).selectExpr("split(value, '=')[0] key", "split(value, '=')[1] value")
        writing = into_log(keyed, frames.servers, tmp_path / "written").trigger(processingTime="0 seconds")
        queries = writing.start(), delivered.start()
        try:
            for file in range(FILES):
                new = numbered_rows(len(rows), ROWS_A_FILE, draw)
                source.add([f"{key}={value}" for key, value in new])
                rows += new
                if file == FILES // 3:
                    kill(quorum, leader_of(quorum))
                if file == 2 * FILES // 3:
                    kill(quorum, draw.choice(sorted(quorum.pids)))
                last = new[-1][1]
                wait_until(lambda last=last: last in delivered.values, f"the rows of file {file}", *queries)  # type: ignore[misc]
            with frames.client() as client:
                eventually(lambda: cut_end(client) > len(rows) // 2, "a log that begins with a snapshot")
        finally:
            for query in queries:
                query.stop()

        # A cut may take an old row before the stream has read it, and never the newest one of a key.
        numbers = [(value or "")[:6] for value in delivered.values]
        key_of = {value: key for key, value in rows}
        assert numbers == sorted(set(numbers))
        model = dict(rows)
        assert {key_of[value]: value for value in delivered.values if value is not None} == model
        assert state_of(frames.read()) == model
        assert frames.read().count() < len(rows)
        assert view_of(frames) == view_of(frames, minPartitions=3) == model
        kill(quorum, *quorum.pids)
        assert view_of(frames) == model
        offsets = {row.offset for row in frames.read().select("offset").collect()}
        assert {row.offset for row in frames.read(view="latest").select("offset").collect()} <= offsets


@pytest.mark.rule("READ-7", "CLIENT-15")
def test_query_goes_on_from_a_checkpoint_whose_records_were_compacted_away(
    spark: SparkSession, compacted: LocalQuorum, tmp_path: Path
) -> None:
    draw, frames = random.Random(3), Frames.of(spark, compacted)
    delivered = Delivered(frames.stream(startingOffsets=0, maxOffsetsPerTrigger=30), tmp_path / "checkpoint")
    with frames.client() as client:
        append(client, first := numbered_rows(0, 100, draw))
        delivered.run()
        assert delivered.values == [value for _, value in first]
        assert {len(batch) for batch in delivered.batches.values()} == {30, 10}
        read_to = client.last_stable_offset()

        state = dict(first) | fill_until_cut(client, draw, beyond=read_to + 100, first=100)
        delivered.run()
        left = state_of(frames.read())

    numbers = [int((value or "")[:6]) for value in delivered.values]
    assert numbers == sorted(set(numbers)), "each row once, in the order of the log"
    assert {*state.values()} - {value for _, value in first} <= {*delivered.values}, "each row that is left"
    assert all(len(batch) <= 30 for batch in delivered.batches.values())
    assert left == state
    assert view_of(frames) == state


@pytest.mark.rule("READ-7")
def test_reads_may_begin_and_end_anywhere_in_a_compacted_log(spark: SparkSession, compacted: LocalQuorum) -> None:
    draw, frames = random.Random(5), Frames.of(spark, compacted)
    with frames.client() as client:
        fill_until_cut(client, draw, beyond=150, first=0)
        cut = last_cut_end(client)
        earliest, end = client.log_start_offset(), client.last_stable_offset()
    everything = {row.offset for row in frames.read().select("offset").collect()}

    first = min(everything)
    assert first > earliest == 0
    for start, stop in [(0, end), (1, cut), (first + 1, cut - 1), (cut - 1, end), (cut, end), (first - 1, first)]:
        rows = frames.read(startingOffsets=start, endingOffsets=stop, minPartitions=7).select("offset").collect()
        assert sorted(row.offset for row in rows) == sorted(each for each in everything if start <= each < stop)
    assert frames.read(endingOffsets=first - 1).count() == 0
    with pytest.raises(Exception, match=f"newest records as of offset {first} are not all left"):
        view_of(frames, endingOffsets=first)


def test_view_of_a_log_that_keeps_everything_is_the_state_as_of_its_end(frames: Frames, spark: SparkSession) -> None:
    prefix = f"view-{frames.end()}"
    rows = [(f"{prefix}-{key}", value) for key, value in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1")]]
    frames.write(frames.rows(rows, "key string, value string"))
    middle = frames.end()
    frames.write(
        frames.rows([(f"{prefix}-b", None), (f"{prefix}-c", "2"), (None, "no key")], "key string, value string")
    )

    def view(**options: object) -> dict[str, str]:
        state = view_of(frames, **options)
        return {key.removeprefix(prefix + "-"): value for key, value in state.items() if key.startswith(prefix)}

    assert view() == view(minPartitions=2) == {"a": "2", "c": "2"}
    assert view(endingOffsets=middle) == {"a": "2", "b": "1", "c": "1"}
    columns = frames.read(view="latest", includeHeaders=True).columns
    assert columns == ["key", "value", "offset", "timestamp", "epoch", "headers"]
    with pytest.raises(AnalysisException, match="view=latest reads the whole log: remove startingOffsets"):
        frames.read(view="latest", startingOffsets=3).count()
    with pytest.raises(StreamingQueryException, match="view=latest is for batch reads only"):
        frames.stream(view="latest").writeStream.format("noop").start().awaitTermination(60)


def test_query_fails_when_its_checkpoint_was_aged_out_unless_data_may_be_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    draw, settings = random.Random(9), {"cleanup.policy": "delete", **SMALL}
    with local_quorum(spark, tmp_path / "quorum", voters=1, settings=settings) as quorum:
        frames = Frames.of(spark, quorum)
        with frames.client() as client:
            append(client, first := numbered_rows(0, 10, draw))
            strict = Delivered(frames.stream(startingOffsets=0), tmp_path / "checkpoint")
            strict.run()
            read_to, rows = client.last_stable_offset(), list(first)

            def is_cut() -> bool:
                append(client, new := numbered_rows(len(rows), 50, draw))
                rows.extend(new)
                return client.log_start_offset() > read_to

            eventually(is_cut, "a log whose start has moved")

        with pytest.raises(StreamingQueryException) as refusal:
            strict.run()
        tolerant = Delivered(frames.stream(failOnDataLoss=False), tmp_path / "checkpoint")
        tolerant.run()

        left = frames.read().selectExpr("cast(value as string) value").collect()
        assert f"offsets {read_to} to " in str(refusal.value)
        assert "Some data may have been lost because it was aged out by the quorum" in str(refusal.value)
        assert "set failOnDataLoss to false to read the other records" in str(refusal.value)
        # Between two reads the start of the log may move once more.
        assert tolerant.values[-len(left) :] == [row.value for row in left]
        eventually(lambda: view_of(frames) == state_of(frames.read()), "a view and a read of the same log")
