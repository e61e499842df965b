"""A log that differs from the checkpoint: it is detected and named, and read only if the option allows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import local_quorum, remove_log
from tests.spark.streams import Checkpoint, Delivered

pytestmark = pytest.mark.spark


def fill(quorum: LocalQuorum, spark: SparkSession, values: list[str]) -> Frames:
    frames = Frames.of(spark, quorum)
    frames.write(frames.values(values).coalesce(1))
    return frames


@pytest.mark.kafka_suite(21)
def test_shorter_log_is_named_and_read_from_its_end_if_data_may_be_lost(spark: SparkSession, tmp_path: Path) -> None:
    data_dir, checkpoint = tmp_path / "quorum", tmp_path / "checkpoint"
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("old", 5))
        Delivered(frames.stream(startingOffsets="earliest"), checkpoint).run()
    remove_log(data_dir)

    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, ["unseen"])
        impatient = {"kraft.default.api.timeout.ms": 1_000}
        with pytest.raises(
            StreamingQueryException, match="the log ends at 2, before the checkpoint's offset 6"
        ) as refusal:
            Delivered(frames.stream(**impatient), checkpoint).run()
        assert "set failOnDataLoss to false to read the other records" in str(refusal.value)
        tolerant = Delivered(frames.stream(failOnDataLoss=False, **impatient), checkpoint)
        tolerant.run()
        fill(quorum, spark, numbered("new", 7))
        tolerant.run()
        tolerant.run()

    assert tolerant.values == numbered("new", 7), "each once, from the end of the log when the loss was detected"


@pytest.mark.kafka_suite(21)
def test_log_with_other_epochs_is_named_and_read_from_where_it_diverges_if_data_may_be_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    data_dir, checkpoint = tmp_path / "quorum", tmp_path / "checkpoint"
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("old", 5))
        Delivered(frames.stream(startingOffsets="earliest"), checkpoint).run()
    remove_log(data_dir)
    with local_quorum(spark, data_dir, voters=1) as quorum:
        fill(quorum, spark, ["of epoch 1"])

    # It is long enough, so only its epochs differ. Offset 2 is the LeaderChange record of epoch 2.
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("new", 7))
        with pytest.raises(StreamingQueryException) as refusal:
            Delivered(frames.stream(), checkpoint).run()
        assert "the log is not the one of the checkpoint (offset 6, epoch 1)" in str(refusal.value)
        assert "they differ at offset 2 of epoch 1" in str(refusal.value)
        tolerant = Delivered(frames.stream(failOnDataLoss=False, maxOffsetsPerTrigger=3), checkpoint)
        tolerant.run()
        tolerant.run()

    assert tolerant.values == numbered("new", 7)


@pytest.mark.kafka_suite(21)
def test_longer_log_of_the_same_epoch_is_named_and_read_from_the_checkpoint_if_data_may_be_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    data_dir, checkpoint = tmp_path / "quorum", tmp_path / "checkpoint"
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("old", 5))
        Delivered(frames.stream(startingOffsets="earliest"), checkpoint).run()
    remove_log(data_dir)

    # Cluster, epoch and length are possible for the old log: only the records differ.
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("new", 9))
        with pytest.raises(StreamingQueryException) as refusal:
            Delivered(frames.stream(), checkpoint).run()
        assert "DataLossError: the log is not the one of the checkpoint: the record batch before offset 6 has" in str(
            refusal.value
        )
        tolerant = Delivered(frames.stream(failOnDataLoss=False), checkpoint)
        tolerant.run()
        fill(quorum, spark, numbered("later", 2))
        tolerant.run()

    assert tolerant.values == [*numbered("new", 4, start=5), *numbered("later", 2)]


@pytest.mark.kafka_suite(21)
def test_log_of_lower_epochs_is_named_and_read_from_its_start_if_data_may_be_lost(
    spark: SparkSession, tmp_path: Path
) -> None:
    data_dir, checkpoint = tmp_path / "quorum", tmp_path / "checkpoint"
    for _ in range(2):
        LocalQuorum.start(data_dir, voters=1).stop()
    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("old", 3))
        Delivered(frames.stream(startingOffsets="earliest"), checkpoint).run()
    remove_log(data_dir)

    with local_quorum(spark, data_dir, voters=1) as quorum:
        frames = fill(quorum, spark, numbered("new", 20))
        impatient = {"kraft.default.api.timeout.ms": 1_000}
        with pytest.raises(StreamingQueryException) as refusal:
            Delivered(frames.stream(**impatient), checkpoint).run()
        assert "DataLossError: was the log replaced?" in str(refusal.value)
        assert "knows a leader of epoch 1, but epoch 3 was seen" in str(refusal.value)
        tolerant = Delivered(frames.stream(failOnDataLoss=False, **impatient), checkpoint)
        tolerant.run()

    assert tolerant.values == numbered("new", 20)


def test_new_quorum_at_the_same_addresses_is_read_and_written_by_the_same_application(
    spark: SparkSession, tmp_path: Path
) -> None:
    with local_quorum(spark, tmp_path / "one", voters=1) as quorum:
        first = fill(quorum, spark, ["one"]).log_values()
        port = int(quorum.bootstrap_servers.split(":")[1])

    with local_quorum(spark, tmp_path / "two", voters=1, base_port=port) as quorum:
        second = fill(quorum, spark, ["two"]).log_values()

    assert (first, second) == (["one"], ["two"])


def test_planned_batch_is_not_read_from_another_cluster(
    frames: Frames, lone_frames: Frames, lone_voter: LocalQuorum, tmp_path: Path
) -> None:
    lone_frames.write(lone_frames.values(numbered("lone", 3)).coalesce(1))
    Delivered(lone_frames.stream(startingOffsets="earliest"), tmp_path / "checkpoint").run()
    Checkpoint(tmp_path / "checkpoint").forget_commit(0)
    frames.write(frames.values(numbered("other cluster", 9)).coalesce(1))

    elsewhere = Delivered(frames.stream(), tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException, match=f"expected {lone_voter.cluster_id}"):
        elsewhere.run()

    assert elsewhere.values == []


@pytest.mark.kafka_suite(21)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_checkpoint_of_another_cluster_is_rejected_naming_both(
    frames: Frames, lone_frames: Frames, lone_voter: LocalQuorum, tmp_path: Path, fail_on_data_loss: bool
) -> None:
    Delivered(lone_frames.stream(), tmp_path / "checkpoint").run()
    with frames.client() as client:
        ours = client.describe_quorum().cluster_id

    elsewhere = Delivered(frames.stream(failOnDataLoss=fail_on_data_loss), tmp_path / "checkpoint")
    with pytest.raises(StreamingQueryException) as refusal:
        elsewhere.run()

    assert f"has cluster id {ours}, expected {lone_voter.cluster_id} as in the checkpoint" in str(refusal.value)
    assert elsewhere.values == []
