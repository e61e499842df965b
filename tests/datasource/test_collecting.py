"""What tasks return to the driver: their rows, with number and size, up to the size of one record batch."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from datasource.columns import encode_batch, encoded_size
from datasource.options import WriteOptions
from datasource.task_rows import Query, TaskRows
from datasource.writing import BATCH_HEADER_BYTES, WriteTooLargeError, append_rows, collect_rows
from raft.client import WriteKey

NO_LIMIT = 1 << 30
QUERY = Query(query_id="query", checkpoint_location=None)


def rows(*values: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"key": [f"key of {value}" for value in values], "value": list(values)})


def nowhere(**options: str) -> WriteOptions:
    """Options of a write to a quorum that does not exist."""
    servers = {"kraft.bootstrap.servers": "nowhere.invalid:1", "kraft.default.api.timeout.ms": "1"}
    return WriteOptions.of(servers | options)


def rows_in(task: TaskRows) -> list[dict[str, str]]:
    assert task.rows is not None, "within the limit"
    found: list[dict[str, str]] = pa.ipc.open_stream(task.rows).read_all().to_pylist()
    return found


def test_task_keeps_its_rows_in_their_order() -> None:
    parts = [rows("b", "a"), rows(), rows("c")]

    task = pickle.loads(pickle.dumps(collect_rows(parts, NO_LIMIT, QUERY)))

    assert [row["value"] for row in rows_in(task)] == ["b", "a", "c"]
    assert (task.row_count, task.query) == (3, QUERY)


@pytest.mark.parametrize("parts", [[], [rows()], [rows(), rows()]], ids=["nothing", "an empty part", "empty parts"])
def test_task_without_rows_has_nothing_to_write(parts: list[pa.RecordBatch]) -> None:
    task = collect_rows(parts, NO_LIMIT, None)

    assert (task.rows, task.row_count, task.size_bytes) == (b"", 0, 0)


def test_size_of_a_task_is_that_of_its_records_in_a_batch() -> None:
    task = collect_rows([rows("a", "b")], NO_LIMIT, None)

    batch = encode_batch(rows("a", "b"), producer_id=None, timestamp_ms=0, max_bytes=NO_LIMIT)
    assert task.size_bytes + BATCH_HEADER_BYTES == len(batch) == encoded_size(rows("a", "b"))


def test_rows_past_the_limit_are_counted_but_not_kept() -> None:
    part = rows("x" * 100)
    size_bytes = encoded_size(part) - BATCH_HEADER_BYTES

    fitting = collect_rows([part, part], 2 * size_bytes, None)
    too_many = collect_rows([part, part, part], 2 * size_bytes, None)

    assert len(rows_in(fitting)) == 2
    assert (too_many.rows, too_many.row_count, too_many.size_bytes) == (None, 3, 3 * size_bytes)


def test_write_of_no_rows_sends_no_request() -> None:
    append_rows(
        nowhere(), WriteKey("writer", 1), [collect_rows([], NO_LIMIT, None)], what="a write", conflict_remedy="none"
    )


def test_write_with_a_task_past_the_limit_is_refused_before_any_request() -> None:
    options = nowhere(**{"kraft.max.request.size": "150"})
    tasks = [collect_rows([rows("a")], 150, None), collect_rows([rows("x" * 200)], 150, None)]

    with pytest.raises(WriteTooLargeError) as refusal:
        append_rows(options, WriteKey("writer", 1), tasks, what="batch 7 of query q", conflict_remedy="none")

    size_bytes = 61 + sum(task.size_bytes for task in tasks)
    assert f"batch 7 of query q has 2 rows and about {size_bytes} bytes" in str(refusal.value)
    assert "expected at most 150 (kraft.max.request.size)" in str(refusal.value)
    assert "Raise both kraft.max.request.size here and message.max.bytes on the nodes" in str(refusal.value)
    assert "Nothing was written" in str(refusal.value)
