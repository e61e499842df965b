"""Stream reads: where they start, where a restart continues, how much a micro-batch has, and when it ends."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import local_quorum
from tests.spark.streams import Checkpoint, Delivered, wait_until

pytestmark = pytest.mark.spark


@pytest.mark.kafka_suite(1)
def test_stream_loses_and_doubles_no_row_when_it_is_restarted(frames: Frames, tmp_path: Path) -> None:
    delivered = Delivered(frames.stream(startingOffsets="earliest"), tmp_path)
    frames.write(frames.values(numbered("before", 3)).coalesce(1))
    delivered.run()
    assert delivered.values == frames.log_values(), "all that is in the log"

    for restart in range(3):
        frames.write(frames.values(numbered(f"restart-{restart}", 5)).coalesce(1))
        delivered.run()

    assert delivered.values == frames.log_values()
    assert [*delivered.batches] == [0, 1, 2, 3]
    assert [len(delivered.batches[number]) for number in (1, 2, 3)] == [5, 5, 5]


@pytest.mark.kafka_suite(20)
def test_checkpoint_has_offsets_in_their_format_and_gets_none_when_nothing_is_new(
    lone_frames: Frames, lone_voter: LocalQuorum, tmp_path: Path
) -> None:
    checkpoint = Checkpoint(tmp_path)
    delivered = Delivered(lone_frames.stream(startingOffsets="earliest"), tmp_path)
    begun = f'{{"version": 2, "clusterId": "{lone_voter.cluster_id}", "offset": '

    lone_frames.write(lone_frames.values(numbered("row", 3)).coalesce(1))
    delivered.run()
    delivered.run()
    assert (checkpoint.planned, checkpoint.committed) == ([0], [0]), "nothing was new"
    lone_frames.write(lone_frames.values(numbered("row", 2, start=3)).coalesce(1))
    delivered.run()
    lone_voter.stop()
    with LocalQuorum.start(tmp_path / "lone-voter", voters=1):
        delivered.run()

    texts = [checkpoint.offset(number) for number in checkpoint.planned]
    # The LeaderChange record of each epoch has an offset: 0 in epoch 1, and 6 in the one after the restart.
    assert [re.sub(r'"checksum": [0-9]+', '"checksum": C', text) for text in texts] == [
        begun + '4, "epoch": 1, "checksum": C, "from": {"offset": 0, "epoch": 0}}',
        begun + '6, "epoch": 1, "checksum": C}',
        begun + '7, "epoch": 2, "checksum": C}',
    ]
    assert delivered.batches == {0: numbered("row", 3), 1: numbered("row", 2, start=3), 2: []}


@pytest.mark.kafka_suite(1, 8)
def test_stream_from_latest_starts_without_rows_and_continues_there(frames: Frames, tmp_path: Path) -> None:
    frames.write(frames.values(["too early"]))
    end = frames.end()
    delivered = Delivered(frames.stream(), tmp_path)

    delivered.run()
    assert delivered.batches == {0: []}
    origin = json.loads(Checkpoint(tmp_path).offset(0))
    assert (origin["offset"], origin["from"]["offset"]) == (end, end)
    frames.write(frames.values(["while stopped"]))
    delivered.run()

    assert delivered.batches == {0: [], 1: ["while stopped"]}


@pytest.mark.kafka_suite(8)
@pytest.mark.parametrize("has_data", [False, True], ids=["without data", "with data"])
def test_first_batch_from_latest_reads_the_same_when_it_is_replayed(
    frames: Frames, tmp_path: Path, has_data: bool
) -> None:
    values = numbered(f"replay-{has_data}-{frames.end()}", 4)
    first = Delivered(frames.stream(), tmp_path / "checkpoint")
    first.run()
    checkpoint = Checkpoint(tmp_path / "checkpoint")
    if has_data:
        # The first batch as it would be if rows had been appended between its start and its end.
        frames.write(frames.values(values).coalesce(1))
        offset = json.loads(checkpoint.offset(0))
        offset |= {"offset": offset["offset"] + 4}
        offset.pop("checksum", None)  # The checksum of the batch before the old offset, if there is one.
        checkpoint.write_offset(0, json.dumps(offset))
    frames.write(frames.values(["later"]))

    checkpoint.forget_commit(0)
    replayed = Delivered(frames.stream(), tmp_path / "checkpoint")
    replayed.run()

    assert replayed.batches == {0: values if has_data else [], 1: ["later"]}


@pytest.mark.kafka_suite(11, 15, 31)
def test_batches_have_exactly_the_size_of_the_option(frames: Frames, tmp_path: Path) -> None:
    start = frames.end()
    values = numbered("limited", 15)
    frames.write(frames.values(values).coalesce(1))
    stream = frames.stream(startingOffsets=start, maxOffsetsPerTrigger=4, minPartitions=2)

    def write_later(number: int) -> None:
        if number == 1:
            frames.write(frames.values(["too late for this run"]))

    Delivered(stream, tmp_path, on_batch=write_later).run()
    rest = Delivered(stream, tmp_path)
    rest.run()

    sizes = [json.loads(Checkpoint(tmp_path).offset(number))["offset"] - start for number in range(5)]
    assert sizes == [4, 8, 12, 15, 16], "the run ended at the end of the log when it began"
    assert rest.batches == {4: ["too late for this run"]}


def test_batches_have_as_many_rows_as_the_limit_when_control_records_are_between_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    for restart in range(2):
        with local_quorum(spark, tmp_path / "quorum", voters=1) as quorum:
            frames = Frames.of(spark, quorum)
            frames.write(frames.values(numbered(f"leader-{restart}", 6)).coalesce(1))
    with local_quorum(spark, tmp_path / "quorum", voters=1) as quorum:
        frames = Frames.of(spark, quorum)
        delivered = Delivered(
            frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=4), tmp_path / "checkpoint"
        )
        delivered.run()

    assert {number: len(values) for number, values in delivered.batches.items()} == {0: 4, 1: 4, 2: 4}


@pytest.mark.kafka_suite(11)
def test_once_reads_everything_with_any_limit(frames: Frames, tmp_path: Path) -> None:
    start = frames.end()
    frames.write(frames.values(numbered("once", 5)).coalesce(1))
    delivered = Delivered(frames.stream(startingOffsets=start, maxOffsetsPerTrigger=2), tmp_path)

    delivered.run(once=True)

    assert delivered.batches == {0: numbered("once", 5)}


@pytest.mark.kafka_suite(12)
def test_limit_may_be_the_largest_number(frames: Frames, tmp_path: Path) -> None:
    start = frames.end()
    frames.write(frames.values(["one"]))
    delivered = Delivered(frames.stream(startingOffsets=start, maxOffsetsPerTrigger=(1 << 63) - 1), tmp_path)

    delivered.run()

    assert delivered.batches == {0: ["one"]}


@pytest.mark.kafka_suite(24)
def test_two_streams_and_a_union_of_two_read_one_log_at_once(frames: Frames, tmp_path: Path) -> None:
    start = frames.end()
    whole = Delivered(frames.stream(startingOffsets=start), tmp_path / "whole")
    left, right = frames.stream(startingOffsets=start, maxOffsetsPerTrigger=3), frames.stream(startingOffsets=start + 5)
    frames.write(frames.values(numbered("shared", 10)).coalesce(1))
    doubled = Delivered(left.union(right), tmp_path / "doubled")
    queries = whole.start(), doubled.start()

    try:
        wait_until(lambda: len(whole.values) == 10 and len(doubled.values) == 15, "both have read", *queries)
        frames.write(frames.values(["for both"]))
        wait_until(lambda: len(whole.values) == 11 and len(doubled.values) == 17, "both have read on", *queries)
    finally:
        for query in queries:
            query.stop()

    values = [*numbered("shared", 10), "for both"]
    assert whole.values == values
    assert Counter(doubled.values) == Counter([*values, *values[5:]])


@pytest.mark.kafka_suite(9)
def test_checkpoint_of_a_later_version_is_rejected_naming_both_versions(frames: Frames, tmp_path: Path) -> None:
    delivered = Delivered(frames.stream(), tmp_path)
    delivered.run()
    checkpoint = Checkpoint(tmp_path)
    checkpoint.write_offset(0, json.dumps(json.loads(checkpoint.offset(0)) | {"version": 4}))

    with pytest.raises(StreamingQueryException, match="offset has version 4, expected 2 or 3"):
        delivered.run()
