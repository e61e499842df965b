"""The driver dies in the worst moment: its write is committed, and nobody has told it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.applications import Application
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import behind_proxy
from tests.spark.streams import Checkpoint, Input, into_log, run_to_end

pytestmark = pytest.mark.spark

FILES = 6
KILLED_AT_WRITE = 3


def test_every_row_is_written_once_when_the_driver_is_killed_and_another_goes_on(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    source, checkpoint = Input(tmp_path / "input"), Checkpoint(tmp_path / "checkpoint")
    for number in range(FILES):
        source.add(numbered(f"file-{number}", 3))
    application: Application | None = None

    def answers(number: int) -> bool:
        assert application is not None, "nobody else writes before it"
        if number == KILLED_AT_WRITE:
            application.kill()
        return number != KILLED_AT_WRITE

    with behind_proxy(tmp_path / "quorum", answers) as (quorum, proxy):
        servers = quorum.bootstrap_servers
        arguments = (servers, tmp_path / "input", checkpoint.path, tmp_path / "warehouse")
        with Application("tests.spark.driver", *arguments) as application:
            application.wait()
        assert proxy.produced >= KILLED_AT_WRITE
        assert (checkpoint.planned, checkpoint.committed) == ([0, 1, 2], [0, 1]), "it died between write and commit"

        # Only now is there to be a session in this process: one at a time.
        spark: SparkSession = request.getfixturevalue("spark")
        run_to_end(into_log(source.stream(spark), servers, checkpoint.path).start())

        assert checkpoint.committed == list(range(FILES))
        expected = [value for number in range(FILES) for value in numbered(f"file-{number}", 3)]
        assert Frames(spark, servers).log_values() == expected
