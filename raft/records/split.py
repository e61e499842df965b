"""Splits bytes into batches: a fetch response, or a part of a segment.

Source: rule FETCH-24; Kafka ByteBufferLogInputStream.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from raft.errors import DecodeError
from raft.records.header import batch_size_bytes, check_crc, read_header
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


def walk_headers(buffer: bytes) -> Iterator[BatchHeader]:
    """Yield the header of each whole batch, after a check of its checksum.

    A partial batch at the end is ignored: leaders limit fetch responses to a size.

    Raises:
        DecodeError: while iterating, at the first damaged batch.
    """
    position = 0
    while True:
        size = batch_size_bytes(buffer, position)
        if size is None or size > len(buffer) - position:
            return
        # No field but the length is used before the checksum is checked.
        check_crc(buffer, position, size)
        yield read_header(buffer, position)
        position += size


def split_batches(data: bytes) -> list[Batch]:
    """Return the whole batches in `data`, checksums verified; a partial batch at the end is left out.

    Raises:
        DecodeError: a batch is damaged; no batch is returned then.
    """
    return list(walk_batches(data))


def split_good_prefix(data: bytes) -> GoodPrefix:
    """Return the batches of a fetch response up to the first one that is damaged or does not follow the one before.

    A leader may send bytes that change at the same time (KAFKA-18723). The batches before them are sound, and the rest
    is fetched again.
    """
    batches: list[Batch] = []
    try:
        for batch in walk_batches(data):
            if batches:
                _check_follows(batches[-1].header, batch.header)
            batches.append(batch)
    except DecodeError as damage:
        return GoodPrefix(batches=tuple(batches), damage=damage)
    return GoodPrefix(batches=tuple(batches), damage=None)


def _check_follows(previous: BatchHeader, header: BatchHeader) -> None:
    if header.base_offset != previous.end_offset:
        raise DecodeError(f"batch at offset {header.base_offset}, expected {previous.end_offset}")


def walk_batches(data: bytes) -> Iterator[Batch]:
    """Yield the whole batches in `data`, checksums verified; a partial batch at the end is left out.

    Raises:
        DecodeError: while iterating, at the first damaged batch.
    """
    position = 0
    for header in walk_headers(data):
        end = position + header.size_bytes
        yield Batch(header=header, payload=data[position:end])
        position = end
