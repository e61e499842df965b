"""Writes that are too large for one record batch: rejected as a whole, with an error that says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

REMEDY = "Raise both kraft.max.request.size here and message.max.bytes on the nodes"


def test_write_above_the_limit_of_the_client_is_rejected_as_a_whole(frames: Frames) -> None:
    end = frames.end()
    rows = frames.values(value * 100 for value in numbered("row", 10))
    one_task, two_tasks = rows.coalesce(1), rows.repartition(2)

    # All rows are in one task, which is too large; or in two tasks, which are too large together.
    for too_large, limit in ((one_task, 5_000), (two_tasks, 7_000)):
        with pytest.raises(AnalysisException) as refusal:
            frames.write(too_large, **{"kraft.max.request.size": limit})
        assert "has 10 rows and about 7" in str(refusal.value)
        assert f"expected at most {limit} (kraft.max.request.size). {REMEDY}" in str(refusal.value)

    assert frames.end() == end, "nothing was written"


def test_query_that_the_nodes_reject_continues_when_their_limit_is_raised(spark: SparkSession, tmp_path: Path) -> None:
    source = Input(tmp_path / "input")
    source.add(["small"])
    source.add(value * 1000 for value in numbered("large", 3))

    def writing(quorum: LocalQuorum) -> None:
        stream = source.stream(spark).coalesce(1)
        run_to_end(into_log(stream, quorum.bootstrap_servers, tmp_path / "checkpoint").start())

    with LocalQuorum.start(tmp_path / "quorum", voters=1, settings={"message.max.bytes": "20000"}) as quorum:
        with pytest.raises(StreamingQueryException) as refusal:
            writing(quorum)
        assert "batch 1 of query" in str(refusal.value)
        assert f"expected at most the node's message.max.bytes. {REMEDY}" in str(refusal.value)
        assert "the query needs a higher limit" in str(refusal.value)
        assert Frames(spark, quorum.bootstrap_servers).log_values() == ["small"]

    with LocalQuorum.start(tmp_path / "quorum", voters=1, settings={"message.max.bytes": "40000"}) as quorum:
        writing(quorum)
        values = Frames(spark, quorum.bootstrap_servers).log_values()
    assert values == ["small", *(value * 1000 for value in numbered("large", 3))]
