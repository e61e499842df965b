"""One Spark session and one quorum of three voters for all tests that do not stop them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from tests.spark.frames import Frames
from tests.spark.lone_log import LoneLog
from tests.spark.quorums import local_quorum
from tests.spark.session import put_shared_session_last
from tests.spark.session import spark as spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_shared_session_last(items)


@pytest.fixture(scope="session")
def quorum(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalQuorum]:
    """Three voters. The tests share the log, so the records of a test begin at the end of the log when it starts."""
    # Some tests write records with timestamps far in the future.
    settings = {"log.message.timestamp.after.max.ms": str((1 << 63) - 1)}
    with local_quorum(spark, tmp_path_factory.mktemp("quorum"), settings=settings) as quorum:
        yield quorum


@pytest.fixture
def frames(spark: SparkSession, quorum: LocalQuorum) -> Frames:
    return Frames.of(spark, quorum)


@pytest.fixture
def lone_voter(spark: SparkSession, tmp_path: Path) -> Iterator[LocalQuorum]:
    """A quorum of one voter for one test, which may stop it and remove its log."""
    # It accepts all timestamps: some tests write records of the year 10000.
    settings = {"log.message.timestamp.after.max.ms": (1 << 63) - 1}
    with local_quorum(spark, tmp_path / "lone-voter", voters=1, settings=settings) as quorum:
        yield quorum


@pytest.fixture
def lone_frames(spark: SparkSession, lone_voter: LocalQuorum) -> Frames:
    return Frames.of(spark, lone_voter)


@pytest.fixture
def lone_log(spark: SparkSession, tmp_path: Path) -> Iterator[LoneLog]:
    """A log for one test, which makes it lose records."""
    with LoneLog(spark, tmp_path / "lone-log") as log:
        yield log
