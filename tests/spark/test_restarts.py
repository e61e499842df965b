"""Streams that write and read continue while voters are killed and restarted: none fails, and no row is lost."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames, numbered
from tests.spark.quorums import handed_over, kill, leader_of
from tests.spark.streams import Delivered, Input, into_log, wait_until

pytestmark = pytest.mark.spark

FILES_A_TIME = 3
ROWS_A_FILE = 4


@contextmanager
def address_that_refuses() -> Iterator[str]:
    """Keep an address, at which connections are refused, during the block."""
    with closing(socket.socket()) as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@pytest.mark.kafka_suite(44, 45)
def test_streams_continue_when_voters_are_killed_and_restarted(spark: SparkSession, tmp_path: Path) -> None:
    source, expected = Input(tmp_path / "input"), []

    def add_files(when: str) -> None:
        for file in range(FILES_A_TIME):
            source.add(values := numbered(f"{when}-{file}", ROWS_A_FILE))
            expected.extend(values)

    with (
        address_that_refuses() as refusing,
        LocalQuorum.start(tmp_path / "quorum") as quorum,
        handed_over(spark, quorum, refusing),
    ):
        frames = replace(Frames.of(spark, quorum), servers=f"{refusing},{quorum.bootstrap_servers}")
        delivered = Delivered(frames.stream(startingOffsets="earliest"), tmp_path / "read")
        add_files("before")
        writing = into_log(source.stream(spark), frames.servers, tmp_path / "written").trigger(
            processingTime="0 seconds"
        )
        queries = writing.start(), delivered.start()

        def all_is_read() -> bool:
            return len(delivered.values) >= len(expected)

        try:
            wait_until(all_is_read, "the rows from before the faults", *queries)
            add_files("the leader is killed")
            kill(quorum, leader_of(quorum))
            wait_until(all_is_read, "the rows that were written while the leader was killed", *queries)
            add_files("all voters are killed")
            kill(quorum, *quorum.pids)
            wait_until(all_is_read, "the rows that were written while no voter ran", *queries)
            for node_id in quorum.pids:
                add_files(f"voter {node_id} is restarted")
                kill(quorum, node_id, with_signal=signal.SIGTERM)
            wait_until(all_is_read, "the rows that were written while voters were restarted", *queries)
        finally:
            for query in queries:
                query.stop()

        assert delivered.values == expected
        assert frames.log_values() == expected
