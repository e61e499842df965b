"""Writes rows: the tasks send them to the driver, and the driver appends them as one record batch.

The header of the batch has the key of the write, so rows and key are stored together, and the leader recognizes a write
that is repeated. So a write is appended once and whole, or not at all, if tasks, commits or drivers are repeated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from datasource.clients import client_for
from datasource.columns import encode_batch, encoded_size
from datasource.options import WriteOptions
from datasource.sink_fence import check_cluster
from datasource.task_rows import Query, TaskRows
from raft.client import Client, WriteKey
from raft.errors import ErrorCode, RaftError, RequestError
from raft.records.header import HEADER

_logger = logging.getLogger(__name__)

BATCH_HEADER_BYTES = HEADER.size


class WriteTooLargeError(RaftError):
    """A write does not fit into one record batch; nothing was written."""


class WriteConflictError(RaftError):
    """The key of a write is in the log with other rows; nothing was written."""


def collect_rows(record_batches: Iterable[pa.RecordBatch], max_bytes: int, query: Query | None) -> TaskRows:
    """Collect the rows of one task. Beyond the limit they are only measured, for the error message.

    Args:
        record_batches: the rows of the task.
        max_bytes: largest size of a write.
        query: see `TaskRows`.
    """
    output = pa.BufferOutputStream()
    stream: pa.ipc.RecordBatchStreamWriter | None = None
    row_count = size_bytes = 0
    for record_batch in record_batches:
        if not record_batch.num_rows:
            continue
        row_count += record_batch.num_rows
        # The size is a little too low, because offset deltas grow. The driver has all rows and computes the exact size.
        size_bytes += encoded_size(record_batch) - BATCH_HEADER_BYTES
        if size_bytes > max_bytes:
            continue
        stream = stream or pa.ipc.new_stream(output, record_batch.schema)
        stream.write_batch(record_batch)
    if stream is not None:
        stream.close()
    rows = output.getvalue().to_pybytes() if size_bytes <= max_bytes else None
    return TaskRows(rows=rows, row_count=row_count, size_bytes=size_bytes, query=query)


def append_rows(
    options: WriteOptions,
    key: WriteKey,
    tasks: Sequence[TaskRows],
    *,
    what: str,
    conflict_remedy: str,
    query: Query | None = None,
) -> None:
    """Append the rows of all tasks, in their order, under the key of the write; without rows, append nothing.

    Args:
        options: of the write.
        key: of the write.
        tasks: the rows of the tasks.
        what: the write in words, for messages.
        conflict_remedy: what to do if other rows were written under this key.
        query: the streaming query; None for a batch write.

    Raises:
        ConfigError: the query has written to another cluster before.
        WriteTooLargeError: the rows do not fit into one record batch.
        WriteConflictError: other rows were written under this key, and `failOnWriteConflict` is true.
        QuorumUnavailableError: no leader responded in time; the rows are written once if the write is repeated.
        RaftError: the nodes of the quorum are not of this project.
    """
    row_count = sum(task.row_count for task in tasks)
    if not row_count:
        return
    limit = options.client.max_request_bytes
    if any(task.rows is None for task in tasks):
        raise _too_large(what, row_count, _size_of(tasks), f"{limit} (kraft.max.request.size)")
    client = client_for(options.client)
    _require_keyed_writes(client)
    if query is not None and query.checkpoint_location is not None:
        check_cluster(query.checkpoint_location, query.query_id, client.cluster_id or "")
    try:
        batch = encode_batch(
            list(_record_batches(tasks)),
            producer_id=key.producer_id,
            producer_epoch=key.producer_epoch,
            base_sequence=key.base_sequence,
            timestamp_ms=int(time.time() * 1000),
            max_bytes=limit,
        )
    except RequestError as error:
        raise _too_large(what, row_count, _size_of(tasks), f"{limit} (kraft.max.request.size)") from error
    try:
        appended = client.append(batch)
    except RequestError as error:
        if error.code == ErrorCode.MESSAGE_TOO_LARGE:
            raise _too_large(what, row_count, len(batch), "the node's message.max.bytes") from error
        if error.code != ErrorCode.DUPLICATE_RESOURCE:
            raise
        conflict = f"{what} is in the log with other rows ({error}); nothing was written"
        if options.fail_on_write_conflict:
            raise WriteConflictError(
                f"{conflict}. {conflict_remedy} If the rows of a write may differ when it is repeated, because they "
                "come from rand(), uuid() or a source that cannot be replayed, set failOnWriteConflict to false: the "
                "first rows then stay, and the write counts as done."
            ) from error
        _logger.warning("%s; it counts as done, because failOnWriteConflict is false", conflict)
        return
    if appended.is_superseded:
        _logger.warning(
            "%s is not written, because a newer write is in the log; it counts as done: writer_id=%s version=%s",
            what,
            key.writer_id,
            key.version,
        )


def _record_batches(tasks: Iterable[TaskRows]) -> Iterator[pa.RecordBatch]:
    for task in tasks:
        if task.rows:
            with pa.ipc.open_stream(task.rows) as stream:
                yield from stream


def _size_of(tasks: Iterable[TaskRows]) -> int:
    return BATCH_HEADER_BYTES + sum(task.size_bytes for task in tasks)


def _too_large(what: str, row_count: int, size_bytes: int, limit: str) -> WriteTooLargeError:
    return WriteTooLargeError(
        f"{what} has {row_count} rows and about {size_bytes} bytes, expected at most {limit}. Raise both "
        "kraft.max.request.size here and message.max.bytes on the nodes. A batch that is already planned has the same "
        "size when it is replayed, so the query needs a higher limit; limits at the source, such as "
        "maxOffsetsPerTrigger, change later batches only. Nothing was written."
    )


def _require_keyed_writes(client: Client) -> None:
    if not client.supports_keyed_writes():
        raise RaftError(
            f"cluster {client.cluster_id} is not a quorum of kraft-spark and can only be read: its nodes do not "
            "recognize repeated writes. Nothing was written"
        )
