"""What a task does with its rows: few go to the driver in the commit message, many are appended as a part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from datasource.clients import client_for
from datasource.columns import encoded_size
from datasource.option_values import ReadColumns
from datasource.options import WriteOptions
from datasource.parts import write_part
from datasource.task_rows import Query, TaskRows
from datasource.write_errors import check_writable, of_refusal
from raft.client import WriteKey
from raft.errors import RequestError
from raft.records.header_fields import HEADER

MESSAGE_BYTES = 128 << 10
"""Most bytes of rows in a commit message: more are appended faster as a part (`make bench ONLY=sink`)."""

ALL_MESSAGES_BYTES = 8 << 20
"""Bound on the rows in all commit messages of a write, which the driver holds in memory: with n tasks they are at most
this times 1 + 1/2 + ... + 1/n."""


def message_bytes(partition_id: int) -> int:
    """Return how many bytes of rows a task may send to the driver.

    A task does not know how many others there are, only that there is one for each lower number of a partition.
    """
    return min(MESSAGE_BYTES, ALL_MESSAGES_BYTES // (partition_id + 1))


def collect_rows(
    record_batches: Iterable[pa.RecordBatch],
    options: WriteOptions,
    key: WriteKey,
    *,
    partition_id: int,
    query: Query | None = None,
) -> TaskRows:
    """Collect the rows of one task, or append them as a part of the write if there are too many for a message.

    Args:
        record_batches: the rows of the task.
        options: of the write.
        key: of the write.
        partition_id: number of the task among those of the write.
        query: see `TaskRows`.

    Raises:
        ValueError: a row cannot be a record: a header without a key, a timestamp that is null or before 1970.
        WriteTooLargeError: a row is larger than what the nodes accept.
        QuorumUnavailableError: no leader responded in time; Spark repeats the task.
        RaftError: the nodes of the quorum are not of this project, or refuse the part.
    """
    limit = options.client.max_request_bytes
    taken: list[pa.RecordBatch] = []
    size_bytes = HEADER.size
    rest = (_written_columns(record_batch, options.read_columns) for record_batch in _not_empty(record_batches))
    for record_batch in rest:
        taken.append(record_batch)
        # The size is a little too low, because offset deltas grow.
        size_bytes += encoded_size(record_batch) - HEADER.size
        if size_bytes > min(message_bytes(partition_id), limit):
            return _appended(chain(taken, rest), options, key, query)
    return TaskRows(
        rows=_stream_of(taken) if taken else None,
        part=None,
        row_count=sum(record_batch.num_rows for record_batch in taken),
        query=query,
    )


def _appended(
    record_batches: Iterator[pa.RecordBatch], options: WriteOptions, key: WriteKey, query: Query | None
) -> TaskRows:
    client = client_for(options.client)
    check_writable(client)
    try:
        part = write_part(client, key.write_id, options.client.max_request_bytes, record_batches)
    except RequestError as error:
        raise of_refusal(error, options.client) from error
    return TaskRows(rows=None, part=part, row_count=part.record_count, query=query)


def _not_empty(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return (record_batch for record_batch in record_batches if record_batch.num_rows)


def _written_columns(record_batch: pa.RecordBatch, fate: ReadColumns) -> pa.RecordBatch:
    """Return the columns that become parts of records."""
    if fate is ReadColumns.REFUSE:
        return record_batch
    written = ["key", "value", "headers"]
    if fate is ReadColumns.KEEP_TIMESTAMPS:
        written.append("timestamp")
    return record_batch.select([name for name in record_batch.schema.names if name in written])


def _stream_of(record_batches: list[pa.RecordBatch]) -> bytes:
    output = pa.BufferOutputStream()
    with pa.ipc.new_stream(output, record_batches[0].schema) as stream:
        for record_batch in record_batches:
            stream.write_batch(record_batch)
    return bytes(output.getvalue().to_pybytes())
