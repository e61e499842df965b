"""The driver is killed when its write is committed and before it gets the response."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import Application
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import behind_proxy, handed_over
from tests.spark.streams import Checkpoint, Input, into_log, run_to_end

pytestmark = pytest.mark.spark

FILES = 6
KILLED_AT_WRITE = 3


@pytest.mark.kafka_suite(44)
def test_every_row_is_written_once_when_the_driver_is_killed_and_another_continues(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source, checkpoint = Input(tmp_path / "input"), Checkpoint(tmp_path / "checkpoint")
    for number in range(FILES):
        source.add(numbered(f"file-{number}", 3))
    application: Application | None = None

    def passes(number: int) -> bool:
        assert application is not None, "no other client writes before the application"
        if number == KILLED_AT_WRITE:
            application.kill()
        return number != KILLED_AT_WRITE

    with behind_proxy(tmp_path / "quorum", passes) as (quorum, proxy):
        arguments = (quorum.client_config, tmp_path / "input", checkpoint.path, tmp_path / "warehouse")
        with Application("tests.spark.driver", *arguments) as application:
            application.wait()
        assert proxy.produced >= KILLED_AT_WRITE
        assert (checkpoint.planned, checkpoint.committed) == ([0, 1, 2], [0, 1]), (
            "it was killed between write and commit"
        )

        # The session of this process starts now, because only one application may run at a time.
        spark: SparkSession = request.getfixturevalue("spark")
        with handed_over(spark, quorum):
            frames = Frames.of(spark, quorum)
            run_to_end(into_log(source.stream(spark), frames.servers, checkpoint.path).start())
            values = frames.log_values()

        assert checkpoint.committed == list(range(FILES))
        assert values == [value for number in range(FILES) for value in numbered(f"file-{number}", 3)]
