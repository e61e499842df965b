"""Commits a write on the driver: as one record batch, or as several parts that become visible together.

The header of the batch, or of the WRITE_COMMIT record, has the key of the write, so rows and key are stored together,
and the leader recognizes a write that is repeated. So a write is appended once and whole, or not at all, if tasks,
commits or drivers are repeated.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

import pyarrow as pa

from datasource.clients import client_for
from datasource.columns import encode_batch, encoded_size
from datasource.options import WriteOptions
from datasource.parts import write_part
from datasource.sink_fence import check_cluster
from datasource.task_rows import Query, TaskRows
from datasource.write_errors import WriteConflictError, check_writable, of_refusal
from raft.client import WRITES_LEVEL, Appended, Client, WriteKey
from raft.errors import DuplicateResourceError, MessageTooLargeError, QuorumUnreachableError, RaftError, RequestError
from raft.records.control import write_commit_batch
from raft.types import WriteCommit, WritePart

_ABORT_CONNECT_TIMEOUT_MS = 1_000

_logger = logging.getLogger(__name__)


def append_rows(
    options: WriteOptions,
    key: WriteKey,
    tasks: Sequence[TaskRows],
    *,
    what: str,
    conflict_remedy: str,
    query: Query | None = None,
) -> None:
    """Append the rows of all tasks under the key of the write; without rows, append nothing.

    The rows of each task keep their order. Tasks whose rows are in the messages come in their order.

    Args:
        options: of the write.
        key: of the write.
        tasks: the rows of the tasks, or their parts.
        what: the write in words, for messages.
        conflict_remedy: what to do if other rows were written under this key.
        query: the streaming query; None for a batch write.

    Raises:
        ConfigError: the query has written to another cluster before.
        WriteTooLargeError: a row is larger than what the nodes accept.
        WriteConflictError: other rows were written under this key, and `failOnWriteConflict` is true.
        QuorumUnavailableError: no leader responded in time; the rows are written once if the write is repeated.
        RaftError: the nodes of the quorum are not of this project, or refuse the write.
    """
    if not any(task.row_count for task in tasks):
        return
    client = client_for(options.client)
    check_writable(client)
    if query is not None and query.checkpoint_location is not None:
        check_cluster(query.checkpoint_location, query.query_id, client.cluster_id or "")
    try:
        appended = _append(client, options, key, tasks)
    except DuplicateResourceError as error:
        conflict = f"{what} is in the log with other rows ({error}); nothing was written"
        if options.fail_on_write_conflict:
            raise WriteConflictError(
                f"{conflict}. {conflict_remedy} If the rows of a write may differ when it is repeated, because they "
                "come from rand(), uuid() or a source that cannot be replayed, set failOnWriteConflict to false: the "
                "first rows then stay, and the write counts as done."
            ) from error
        _logger.warning("%s; it counts as done, because failOnWriteConflict is false", conflict)
        return
    except RequestError as error:
        raise of_refusal(error, options.client) from error
    if appended.is_superseded:
        _logger.warning(
            "%s is not written, because a newer write is in the log; it counts as done: writer_id=%s version=%s",
            what,
            key.writer_id,
            key.version,
        )


def _append(client: Client, options: WriteOptions, key: WriteKey, tasks: Sequence[TaskRows]) -> Appended:
    """Append a small write as one batch; a larger one in parts, of which the tasks have appended the large ones."""
    limit = options.client.max_request_bytes
    parts = [task.part for task in tasks if task.part is not None]
    record_batches = list(_record_batches(tasks))
    if not parts and encoded_size(record_batches) <= limit:
        # If the nodes accept smaller batches only (message.max.bytes), it becomes a part.
        with suppress(MessageTooLargeError):
            return client.append(_encoded(record_batches, key, limit))
    if record_batches:
        parts.append(write_part(client, key.write_id, limit, record_batches))
    return client.append(_commit_of(parts, key))


def _encoded(record_batches: list[pa.RecordBatch], key: WriteKey, max_bytes: int) -> bytes:
    return encode_batch(
        record_batches,
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        timestamp_ms=int(time.time() * 1000),
        max_bytes=max_bytes,
    )


def _commit_of(parts: list[WritePart], key: WriteKey) -> bytes:
    return write_commit_batch(
        WriteCommit(parts=tuple(parts)),
        producer_id=key.producer_id,
        producer_epoch=key.producer_epoch,
        base_sequence=key.base_sequence,
        timestamp_ms=int(time.time() * 1000),
    )


def _record_batches(tasks: Iterable[TaskRows]) -> Iterator[pa.RecordBatch]:
    for task in tasks:
        if task.rows:
            with pa.ipc.open_stream(task.rows) as stream:
                yield from stream


def abort_parts(options: WriteOptions, key: WriteKey) -> None:
    """Abort the parts of a write that failed, so that readers need not wait for them; only log a failure.

    Without this, or if no leader responds, the leader aborts them after `transaction.max.timeout.ms`, or when the same
    write is repeated.
    """
    try:
        client = client_for(replace(options.client, connect_timeout_ms=_ABORT_CONNECT_TIMEOUT_MS))
        if client.feature_level() >= WRITES_LEVEL:
            client.abort_write(key.write_id)
    except QuorumUnreachableError as error:
        _logger.info("the parts of a failed write are not aborted yet: %s", error)  # The error of the write says it.
    except RaftError as error:
        _logger.warning("the parts of a failed write are not aborted yet: %s", error)
