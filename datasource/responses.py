"""The rows of a fetch response. A batch that cannot be read is data loss; the batches before and after it are read.

A log may hold batches that no reader can read: leaders did not always check the records that they appended, and disks
fail. If another node than the leader sent such a batch, the leader may have a sound copy, so it is asked first.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import pyarrow as pa

from datasource.columns import decode
from datasource.control_rows import with_control
from datasource.options import ReadOptions
from datasource.read_plan import data_loss
from raft.client import AbortedFilter, Fetched
from raft.errors import CorruptBatchError, DecodeError
from raft.records.header_fields import HEADER, check_crc, fields_at
from raft.types import Endpoint, Offset

_logger = logging.getLogger(__name__)

Rows = Generator[pa.RecordBatch, None, Offset]
"""Record batches; returns the offset to read from next."""

_DAMAGE = (CorruptBatchError, DecodeError)


def read_response(
    options: ReadOptions,
    fetched: Fetched,
    start: Offset,
    end: Offset,
    *,
    leave_reader: Callable[[Endpoint], None] | None = None,
) -> Rows:
    """Yield the rows of a fetch response between two offsets; return the offset to read from next.

    Args:
        options: of the read.
        fetched: has records, the last batch perhaps partial.
        start: rows before it are left out.
        end: rows at it and after it are left out.
        leave_reader: called with a node that does not lead and sent a batch that cannot be read. The rows before that
            batch are read, and the rest is to be fetched again. None if no other node can be asked.

    Raises:
        DataLossError: a batch of the leader cannot be read, and `failOnDataLoss` is true. Names offsets and cause.
    """
    offset = start
    try:
        rows = _decoded(options, fetched.records, start, end, _filter_of(fetched))
        while True:
            try:
                record_batch = next(rows)
            except StopIteration as done:
                return Offset(max(offset, done.value))
            yield record_batch
            offset = Offset(record_batch.column("offset")[-1].as_py() + 1)
    except _DAMAGE as damage:
        if fetched.reader is not None and leave_reader is not None:
            _logger.warning("node %s sent a damaged batch, another node is asked: %s", fetched.reader, damage)
            leave_reader(fetched.reader)
            return offset
        # The batches are read one by one, to find the one that is damaged.
        return (yield from _one_by_one(options, fetched, offset, end))


def _filter_of(fetched: Fetched) -> AbortedFilter | None:
    return AbortedFilter(fetched.aborted) if fetched.aborted else None


def _decoded(options: ReadOptions, records: bytes, start: Offset, end: Offset, aborted: AbortedFilter | None) -> Rows:
    """Yield the rows of sound batches.

    Raises:
        CorruptBatchError, DecodeError: at any time: one of the batches cannot be read.
    """
    decoded = decode(
        records,
        start_offset=start,
        end_offset=end,
        headers=options.include_headers,
        control=options.include_control_records,
        aborted=aborted,
    )
    if decoded.next_offset is None:
        raise DecodeError(f"{len(records)} bytes are not a whole batch")
    for record_batch in decoded.record_batches:
        yield with_control(record_batch) if options.include_control_records else record_batch
    return decoded.next_offset


@dataclass(frozen=True, slots=True)
class _BatchBytes:
    """The bytes that a response has for one batch, by the length in its header, which may be wrong."""

    data: bytes

    @property
    def base_offset(self) -> Offset:
        return fields_at(self.data).base_offset

    @property
    def has_right_checksum(self) -> bool:
        try:
            check_crc(self.data, 0, len(self.data))
        except DecodeError:
            return False
        return True

    @property
    def claimed_end(self) -> Offset | None:
        """The end offset, if its checksum is right or two fields of the header agree on it; None otherwise."""
        fields = fields_at(self.data)
        agrees = fields.record_count == fields.last_offset_delta + 1
        if fields.last_offset_delta >= 0 and (agrees or self.has_right_checksum):
            return fields.end_offset
        return None


def _by_length(records: bytes) -> Iterator[_BatchBytes]:
    """Yield the batches of a response by their lengths; a partial one at the end only if it is the first."""
    position = 0
    while len(records) - position >= HEADER.size:
        size = fields_at(records, position).size_bytes
        if size > len(records) - position and position > 0:
            return
        data = records[position : position + size] if size >= HEADER.size else records[position:]
        yield _BatchBytes(data)
        position += len(data)


def _one_by_one(options: ReadOptions, fetched: Fetched, offset: Offset, end: Offset) -> Rows:
    batches, aborted = list(_by_length(fetched.records)), _filter_of(fetched)
    if not batches:
        data_loss(options, f"cannot read offsets {offset} to {end}: {len(fetched.records)} bytes are not a batch")
        return end
    reached = Offset(0)
    for batch, following in zip(batches, [*batches[1:], None], strict=True):
        if offset >= end:
            break
        try:
            if batch.base_offset < reached:
                raise DecodeError(f"batch at offset {batch.base_offset}: the one before it ends at {reached}")
            reached = yield from _decoded(options, batch.data, offset, end, aborted)
        except _DAMAGE as error:
            reached = _end_of_damage(batch, following, end)
            if reached > offset:
                lost_from = max(offset, batch.base_offset)
                data_loss(options, f"cannot read offsets {lost_from} to {min(reached, end) - 1}: {error}")
        offset = Offset(max(offset, reached))
    return offset


def _end_of_damage(batch: _BatchBytes, following: _BatchBytes | None, end: Offset) -> Offset:
    """Return the offset after a batch that cannot be read; `end` if neither it nor the next batch tells."""
    if following is not None and following.base_offset > batch.base_offset and following.has_right_checksum:
        return following.base_offset
    claimed_end = batch.claimed_end
    return end if claimed_end is None else claimed_end
