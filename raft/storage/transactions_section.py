"""The transactions in a producer snapshot, after the writers.

    size  field                         form
    4     number of open transactions   int32
          for each                      int64 producer id, int16 epoch, int64 first offset, int64 last offset, int64
                                        first timestamp, int64 last timestamp, int64 record count, uint64 content
                                        checksum, int8 number of remembered batches, and each batch as for a writer
    4     number of transactional ids   int32
          for each                      int64 producer id, int16 epoch, int32 timeout, int64 and int16 producer id and
                                        epoch before (-1 for none), int8 how the last transaction with those ended (-1
                                        for none), int64 offset of the last use, int16 length of the name, name in UTF-8
    4     number of commits             int32
          for each                      int64 offset of the WRITE_COMMIT, int64 first offset, int32 number of parts
                                        without a marker, int64 producer id of each
    4     number of ended writes        int32; the rest is missing in version 2 of the file
          for each                      int64 first offset, int64 end offset

Kafka's tools do not read this section.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from raft.errors import DecodeError
from raft.storage.written_entry import WRITTEN, read_written, write_written
from raft.transactions import CommitImage, EndedWrite, OpenTransaction, TransactionalProducer, TransactionsImage
from raft.types import ControlType, Offset
from raft.writers import Written

Value = TypeVar("Value")

_COUNT = struct.Struct(">i")
_TRANSACTION = struct.Struct(">qhqqqqqQb")
_PRODUCER = struct.Struct(">qhiqhbqh")
_COMMIT = struct.Struct(">qqi")
_ENDED_WRITE = struct.Struct(">qq")
_PRODUCER_ID = struct.Struct(">q")
_NONE = -1
_NO_PRODUCER = (-1, -1)
_END_TYPES = {int(end): end for end in (ControlType.ABORT, ControlType.COMMIT)}


def write_transactions(image: TransactionsImage) -> bytes:
    """Return the bytes of the section, up to the ended writes if there are none."""
    return b"".join((*_pieces(image), *_pieces_of_ended_writes(image.ended_writes)))


def _pieces_of_ended_writes(writes: Sequence[EndedWrite]) -> Iterator[bytes]:
    if writes:
        yield _COUNT.pack(len(writes))
        for write in writes:
            yield _ENDED_WRITE.pack(write.first_offset, write.end_offset)


def _pieces(image: TransactionsImage) -> Iterator[bytes]:
    yield _COUNT.pack(len(image.transactions))
    for each in image.transactions:
        yield _TRANSACTION.pack(
            each.producer_id,
            each.producer_epoch,
            each.first_offset,
            each.last_offset,
            each.first_timestamp_ms,
            each.last_timestamp_ms,
            each.record_count,
            each.content_checksum,
            len(each.history),
        )
        yield from map(write_written, each.history)
    yield _COUNT.pack(len(image.producers))
    for producer in image.producers:
        name = producer.name.encode()
        yield _PRODUCER.pack(
            producer.producer_id,
            producer.producer_epoch,
            producer.timeout_ms,
            *(_NO_PRODUCER if producer.previous is None else producer.previous),
            _NONE if producer.last_end is None else producer.last_end,
            producer.used_at,
            len(name),
        )
        yield name
    yield _COUNT.pack(len(image.commits))
    for commit in image.commits:
        yield _COMMIT.pack(commit.offset, commit.first_offset, len(commit.missing))
        yield from map(_PRODUCER_ID.pack, commit.missing)


def read_transactions(
    content: bytes, position: int, end_offset: Offset, *, has_ended_writes: bool
) -> tuple[TransactionsImage, int]:
    """Return the section that begins at `position`, and its end.

    Args:
        content: of the file.
        position: where the section begins.
        end_offset: the offset in the name of the file.
        has_ended_writes: whether it ends with ended writes.

    Raises:
        DecodeError: a number is impossible.
        struct.error: it is incomplete.
    """
    reader = _Reader(content, position, end_offset)
    image = TransactionsImage(
        transactions=reader.sequence(reader.transaction, _TRANSACTION.size),
        producers=reader.sequence(reader.producer, _PRODUCER.size),
        commits=reader.sequence(reader.commit, _COMMIT.size),
        ended_writes=reader.sequence(reader.ended_write, _ENDED_WRITE.size) if has_ended_writes else (),
    )
    is_open = {transaction.producer_id for transaction in image.transactions}
    for commit in image.commits:
        if not is_open.issuperset(commit.missing):
            raise DecodeError(f"producer snapshot with a commit of parts {commit.missing}, not all of which are open")
    return image, reader.position


class _Reader:
    def __init__(self, content: bytes, position: int, end_offset: Offset) -> None:
        self._content = content
        self.position = position
        self._end_offset = end_offset
        self._ended_to = 0

    def sequence(self, read: Callable[[], Value], least_bytes: int) -> tuple[Value, ...]:
        (count,) = self._take(_COUNT)
        if not 0 <= count <= (len(self._content) - self.position) // least_bytes:
            raise DecodeError(f"producer snapshot with {count} entries in {len(self._content)} bytes")
        return tuple(read() for _ in range(count))

    def transaction(self) -> OpenTransaction:
        producer_id, epoch, first, last, first_ms, last_ms, record_count, checksum, batches = self._take(_TRANSACTION)
        if not 0 <= first <= last < self._end_offset or record_count < 1 or batches < 0:
            raise DecodeError(f"producer snapshot with a transaction of {record_count} records from {first} to {last}")
        history = tuple(self._written() for _ in range(batches))
        return OpenTransaction(
            producer_id=producer_id,
            producer_epoch=epoch,
            first_offset=Offset(first),
            last_offset=Offset(last),
            first_timestamp_ms=first_ms,
            last_timestamp_ms=last_ms,
            record_count=record_count,
            content_checksum=checksum,
            history=history,
        )

    def producer(self) -> TransactionalProducer:
        producer_id, epoch, timeout_ms, id_before, epoch_before, last_end, used_at, size_bytes = self._take(_PRODUCER)
        name = self._content[self.position : self.position + max(size_bytes, 0)]
        self.position += len(name)
        if len(name) != size_bytes:
            raise DecodeError(f"producer snapshot with a transactional id of {size_bytes} bytes")
        try:
            text = name.decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"producer snapshot with a transactional id that is not UTF-8: {error}") from error
        return TransactionalProducer(
            name=text,
            producer_id=producer_id,
            producer_epoch=epoch,
            timeout_ms=timeout_ms,
            previous=None if id_before < 0 else (id_before, epoch_before),
            last_end=_END_TYPES.get(last_end),
            used_at=Offset(used_at),
        )

    def commit(self) -> CommitImage:
        offset, first, count = self._take(_COMMIT)
        if not 0 <= first < offset < self._end_offset:
            raise DecodeError(f"producer snapshot up to {self._end_offset} with a commit from {first} to {offset}")
        if not 1 <= count <= (len(self._content) - self.position) // _PRODUCER_ID.size:
            raise DecodeError(f"producer snapshot with a commit of {count} parts")
        missing = tuple(self._take(_PRODUCER_ID)[0] for _ in range(count))
        return CommitImage(offset=Offset(offset), first_offset=Offset(first), missing=missing)

    def ended_write(self) -> EndedWrite:
        first, end = self._take(_ENDED_WRITE)
        if not self._ended_to <= first < end <= self._end_offset:
            raise DecodeError(f"producer snapshot up to {self._end_offset} with an ended write from {first} to {end}")
        self._ended_to = end
        return EndedWrite(first_offset=Offset(first), end_offset=Offset(end))

    def _written(self) -> Written:
        written = read_written(self._content, self.position, self._end_offset)
        self.position += WRITTEN.size
        return written

    def _take(self, form: struct.Struct) -> tuple[int, ...]:
        values = form.unpack_from(self._content, self.position)
        self.position += form.size
        return values
