"""Reads batches that lie one after the other: those of a fetch response, or of a part of a segment.

Source: rule FETCH-24; Kafka ByteBufferLogInputStream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import header_of
from raft.records.header_fields import batch_size_bytes, check_crc, whole_batches
from raft.types import Batch, BatchHeader


@dataclass(frozen=True, slots=True, kw_only=True)
class GoodPrefix:
    """The sound batches at the start of some bytes.

    Fields:
        batches: the batches before the first damaged one.
        damage: the error of the first damaged batch; None if all are sound.
    """

    batches: tuple[Batch, ...]
    damage: DecodeError | None


def read_headers(buffer: bytes) -> Iterator[BatchHeader]:
    """Yield the header of each whole batch, after a check of its checksum.

    A partial batch at the end is ignored: leaders limit fetch responses to a size.

    Raises:
        DecodeError: while iterating, at the first damaged batch.
    """
    end = 0
    for start, end, fields in whole_batches(buffer):
        # No field but the length is used before the checksum is checked.
        check_crc(buffer, start, end - start)
        yield header_of(buffer, start, end, fields)
    # Fewer bytes than a header can be damaged too.
    batch_size_bytes(buffer, end)


def read_batches(data: bytes) -> Iterator[Batch]:
    """Yield the whole batches in `data`, checksums verified; a partial batch at the end is left out.

    Raises:
        DecodeError: while iterating, at the first damaged batch.
    """
    position = 0
    for header in read_headers(data):
        end = position + header.size_bytes
        yield Batch(header=header, payload=data[position:end])
        position = end


def read_good_prefix(data: bytes) -> GoodPrefix:
    """Return the batches of a fetch response up to the first one that is damaged or does not follow the one before.

    A leader may send bytes that change at the same time (KAFKA-18723). The batches before them are sound, and the rest
    is fetched again.
    """
    batches: list[Batch] = []
    try:
        for batch in read_batches(data):
            if batches:
                _check_follows(batches[-1].header, batch.header)
            batches.append(batch)
    except DecodeError as damage:
        return GoodPrefix(batches=tuple(batches), damage=damage)
    return GoodPrefix(batches=tuple(batches), damage=None)


def _check_follows(previous: BatchHeader, header: BatchHeader) -> None:
    if header.base_offset != previous.end_offset:
        raise DecodeError(f"batch at offset {header.base_offset}, expected {previous.end_offset}")
