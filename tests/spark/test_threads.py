"""Writes from a second thread: Spark finds no data source there until the thread has a session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import InheritableThread
from pyspark.sql import DataFrame

from kraft_spark import use_in_thread
from tests.spark.frames import Frames
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

THREADS = [threading.Thread, InheritableThread]
MISSING = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kraft"


def outcome_in(kind: Callable[..., threading.Thread], work: Callable[[], None]) -> str:
    """Run something in a thread of its own; return what it raised, or nothing."""
    raised: list[str] = []

    def run() -> None:
        try:
            work()
        except Exception as error:
            raised.append(str(error))

    thread = kind(target=run)
    thread.start()
    thread.join()
    return "".join(raised)


@pytest.mark.parametrize("kind", THREADS)
def test_second_thread_writes_once_it_has_the_session(frames: Frames, kind: Callable[..., threading.Thread]) -> None:
    start, rows = frames.end(), frames.values(["from a thread"])

    def write() -> None:
        frames.write(rows)

    def write_with_the_session() -> None:
        use_in_thread(rows.sparkSession)
        frames.write(rows)

    # Without the call Spark fails. If this passes in a later version of Spark, `use_in_thread` is not needed any more.
    assert MISSING in outcome_in(kind, write)
    assert outcome_in(kind, write_with_the_session) == ""
    assert frames.log_values(start) == ["from a thread"]


@pytest.mark.parametrize("kind", THREADS)
def test_second_thread_starts_a_stream_once_it_has_the_session(
    frames: Frames, tmp_path: Path, kind: Callable[..., threading.Thread]
) -> None:
    start, source = frames.end(), Input(tmp_path / "input")
    source.add(["from a stream of a thread"])

    def stream() -> None:
        run_to_end(into_log(source.stream(frames.spark), frames.servers, tmp_path / "checkpoint").start())

    def stream_with_the_session() -> None:
        use_in_thread(frames.spark)
        stream()

    assert MISSING in outcome_in(kind, stream)
    assert outcome_in(kind, stream_with_the_session) == ""
    assert frames.log_values(start) == ["from a stream of a thread"]


@pytest.mark.parametrize("kind", THREADS)
def test_thread_of_foreach_batch_writes_once_it_has_the_session(
    frames: Frames, tmp_path: Path, kind: Callable[..., threading.Thread]
) -> None:
    start, source = frames.end(), Input(tmp_path / "input")
    source.add(["from foreachBatch"])
    outcomes: list[str] = []

    def write_twice(rows: DataFrame, _number: int) -> None:
        def write_with_the_session() -> None:
            use_in_thread(rows.sparkSession)
            frames.write(rows)

        outcomes.append(outcome_in(kind, lambda: frames.write(rows)))
        outcomes.append(outcome_in(kind, write_with_the_session))
        frames.write(rows)

    query = source.stream(frames.spark).writeStream.foreachBatch(write_twice).trigger(availableNow=True)
    run_to_end(query.option("checkpointLocation", str(tmp_path / "checkpoint")).start())

    without, with_the_session = outcomes
    assert MISSING in without
    assert with_the_session == ""
    assert frames.log_values(start) == ["from foreachBatch"] * 2, "the thread, and foreachBatch's own thread"


def test_second_thread_needs_no_session_to_read(frames: Frames) -> None:
    start = frames.end()
    frames.write(frames.values(["a"]))
    found: list[str | None] = []

    outcome = outcome_in(threading.Thread, lambda: found.extend(frames.log_values(start)))

    assert (outcome, found) == ("", ["a"])
