"""A write whose key is in the log with other rows: an error that names the key and what to do, or a warning."""

from __future__ import annotations

import logging

import pyarrow as pa
import pytest

from datasource import write_commit
from datasource.batch_writer import KraftBatchWriter
from datasource.options import WriteOptions
from datasource.stream_writer import KraftStreamWriter
from datasource.task_rows import Query
from datasource.write_errors import WriteConflictError
from datasource.write_task import collect_rows
from raft.client import WriteKey
from tests.datasource.leader_in_memory import LeaderInMemory

SERVERS = {"kraft.bootstrap.servers": "localhost:1"}


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> LeaderInMemory:
    leader = LeaderInMemory()
    monkeypatch.setattr(write_commit, "client_for", lambda *_: leader)
    return leader


def write_batch(*values: str, **options: str) -> None:
    written = WriteOptions.of(SERVERS | options)
    rows = [pa.RecordBatch.from_pydict({"value": list(values)})]
    task = collect_rows(rows, written, written.key or WriteKey("none", 0), partition_id=0)
    KraftBatchWriter(written).commit([task])


def write_stream(*values: str, **options: str) -> None:
    written = WriteOptions.of(SERVERS | options)
    query = Query(query_id="a query", checkpoint_location=None)
    rows = [pa.RecordBatch.from_pydict({"value": list(values)})]
    task = collect_rows(rows, written, WriteKey("a query", 7), partition_id=0, query=query)
    KraftStreamWriter(written).commit([task], 7)


@pytest.mark.rule("CLIENT-11")
def test_same_rows_again_are_written_already_in_whatever_order(leader: LeaderInMemory) -> None:
    for values in (("a", "b", "c"), ("c", "a", "b")):
        write_stream(*values)
        write_batch(*values, txnAppId="app", txnVersion="7")

    assert [header.record_count for header in leader.log] == [3, 3], "one for each key"


@pytest.mark.parametrize(
    ("values", "difference"),
    [(("a", "x"), "the same record count, but other records"), (("a",), "record count 1")],
    ids=["other rows", "fewer rows"],
)
@pytest.mark.rule("CLIENT-11")
def test_error_of_a_batch_write_of_other_rows_names_its_key_and_what_to_do(
    leader: LeaderInMemory, values: tuple[str, ...], difference: str
) -> None:
    write_batch("a", "b", txnAppId="app", txnVersion="7")

    with pytest.raises(WriteConflictError) as refusal:
        write_batch(*values, txnAppId="app", txnVersion="7")

    producer_id = WriteKey("app", 7).producer_id
    assert str(refusal.value).startswith(
        "the write with txnAppId=app and txnVersion=7 is in the log with other rows (DUPLICATE_RESOURCE: "
        f"version 7 of producer id {producer_id} was written at offset 11 with record count 2; the batch that came has "
        f"{difference}); nothing was written. txnAppId and txnVersion identify one write: use another txnAppId for"
    )
    assert "set failOnWriteConflict to false" in str(refusal.value)
    assert len(leader.log) == 1


@pytest.mark.rule("CLIENT-11")
def test_error_of_a_stream_of_other_rows_names_its_batch_and_what_to_do(leader: LeaderInMemory) -> None:
    write_stream("a", "b")

    with pytest.raises(WriteConflictError) as refusal:
        write_stream("a", "x")

    assert str(refusal.value).startswith("batch 7 of query a query is in the log with other rows (DUPLICATE_")
    assert "start this query with a new checkpointLocation" in str(refusal.value)
    assert len(leader.log) == 1


@pytest.mark.rule("CLIENT-11")
def test_conflict_counts_as_written_with_a_warning_where_the_option_says_so(
    leader: LeaderInMemory, caplog: pytest.LogCaptureFixture
) -> None:
    write_stream("a", "b")

    write_stream("a", "x", failOnWriteConflict="false")

    assert len(leader.log) == 1
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().startswith("batch 7 of query a query is in the log with other rows (DUPLICATE_")
    assert warning.getMessage().endswith("it counts as done, because failOnWriteConflict is false")
