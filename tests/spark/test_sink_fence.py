"""A streaming query that is restarted with the servers of another quorum."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import SERVERS, Frames
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("by_option", [True, False], ids=["option", "setting and name"])
def test_query_does_not_continue_with_another_quorum(
    frames: Frames, lone_frames: Frames, lone_voter: LocalQuorum, spark: SparkSession, tmp_path: Path, by_option: bool
) -> None:
    source = Input(tmp_path / "input")
    conf = "spark.sql.streaming.checkpointLocation"

    def run(servers: str) -> None:
        writing = into_log(source.stream(spark), servers, tmp_path / "root" / "query")
        if not by_option:
            writing = source.stream(spark).writeStream.format("kraft").option(SERVERS, servers).queryName("query")
            writing = writing.trigger(availableNow=True)
        spark.conf.set(conf, str(tmp_path / "root"))
        try:
            run_to_end(writing.start())
        finally:
            spark.conf.unset(conf)

    source.add(["first"])
    run(lone_frames.servers)
    source.add(["second"])
    end = frames.end()
    with pytest.raises(StreamingQueryException) as refusal:
        run(frames.servers)
    assert frames.end() == end, "nothing is written"
    run(lone_frames.servers)

    assert f"expected {lone_voter.cluster_id}, to which query" in str(refusal.value)
    assert lone_frames.log_values()[-2:] == ["first", "second"]
    fence = json.loads((tmp_path / "root" / "query" / "kraft-sink.json").read_text())
    assert fence == {"version": 1, "clusterId": lone_voter.cluster_id}
