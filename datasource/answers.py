"""The rows of a fetch answer. A batch that cannot be read is data loss; those before it and behind it are delivered.

A log may hold batches that no reader can read: leaders have not always looked at what they took, and disks fail.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass

import pyarrow as pa

from datasource.columns import decode
from datasource.control_rows import with_control
from datasource.options import ReadOptions
from datasource.planning import data_loss
from raft.errors import CorruptBatchError, DecodeError
from raft.records.header import HEADER, LENGTH_END, check_crc
from raft.types import Offset

Rows = Generator[pa.RecordBatch, None, Offset]
"""Record batches; returns the offset to read from next."""

_DAMAGE = (CorruptBatchError, DecodeError)


def read_answer(options: ReadOptions, records: bytes, start: Offset, end: Offset) -> Rows:
    """Yield the rows of a fetch answer between two offsets; return the offset to read from next.

    Args:
        options: of the read.
        records: batches one after the other, the last one perhaps cut off; not empty.
        start: rows before it are left out.
        end: rows at it and after it are left out.

    Raises:
        DataLossError: a batch cannot be read, and `failOnDataLoss` is true. Names offsets and cause.
    """
    offset = start
    try:
        rows = _decoded(options, records, start, end)
        while True:
            try:
                record_batch = next(rows)
            except StopIteration as done:
                return Offset(max(offset, done.value))
            yield record_batch
            offset = Offset(record_batch.column("offset")[-1].as_py() + 1)
    except _DAMAGE:
        # One by one, to find which it is.
        return (yield from _one_by_one(options, records, offset, end))


def _decoded(options: ReadOptions, records: bytes, start: Offset, end: Offset) -> Rows:
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
    )
    if decoded.next_offset is None:
        raise DecodeError(f"{len(records)} bytes are not a whole batch")
    for record_batch in decoded.record_batches:
        yield with_control(record_batch) if options.include_control_records else record_batch
    return decoded.next_offset


@dataclass(frozen=True, slots=True)
class _Piece:
    """The bytes of one batch, as far as its length can be believed."""

    data: bytes

    @property
    def base_offset(self) -> Offset:
        return Offset(HEADER.unpack_from(self.data)[0])

    @property
    def has_right_checksum(self) -> bool:
        try:
            check_crc(self.data, 0, len(self.data))
        except DecodeError:
            return False
        return True

    @property
    def claimed_end(self) -> Offset | None:
        """The end offset, if the header can be believed: its checksum is right, or two of its fields agree on it."""
        fields = HEADER.unpack_from(self.data)
        base_offset, last_offset_delta, record_count = fields[0], fields[6], fields[-1]
        if last_offset_delta >= 0 and (record_count == last_offset_delta + 1 or self.has_right_checksum):
            return Offset(base_offset + last_offset_delta + 1)
        return None


def _pieces(records: bytes) -> Iterator[_Piece]:
    """Yield the batches of an answer by their lengths; one that is cut off at the end only if there is no other."""
    position = 0
    while len(records) - position >= HEADER.size:
        size = LENGTH_END + HEADER.unpack_from(records, position)[1]
        if size > len(records) - position and position > 0:
            return
        data = records[position : position + size] if size >= HEADER.size else records[position:]
        yield _Piece(data)
        position += len(data)


def _one_by_one(options: ReadOptions, records: bytes, offset: Offset, end: Offset) -> Rows:
    pieces = list(_pieces(records))
    if not pieces:
        data_loss(options, f"cannot read offsets {offset} to {end}: {len(records)} bytes are not a batch")
        return end
    reached = Offset(0)
    for piece, following in zip(pieces, [*pieces[1:], None], strict=True):
        if offset >= end:
            break
        try:
            if piece.base_offset < reached:
                raise DecodeError(f"batch at offset {piece.base_offset}: the one before it ends at {reached}")
            reached = yield from _decoded(options, piece.data, offset, end)
        except _DAMAGE as error:
            reached = _end_of_damage(piece, following, end)
            if reached > offset:
                lost_from = max(offset, piece.base_offset)
                data_loss(options, f"cannot read offsets {lost_from} to {min(reached, end) - 1}: {error}")
        offset = Offset(max(offset, reached))
    return offset


def _end_of_damage(piece: _Piece, following: _Piece | None, end: Offset) -> Offset:
    """Where to go on behind a batch that cannot be read; `end` if nothing tells."""
    if following is not None and following.base_offset > piece.base_offset and following.has_right_checksum:
        return following.base_offset
    claimed_end = piece.claimed_end
    return end if claimed_end is None else claimed_end
