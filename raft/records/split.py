"""Batches that follow each other in one run of bytes: a Fetch answer, a piece of a segment.

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
    """What of a run of bytes can be used.

    Fields:
        batches: those before the first bad one.
        damage: what is wrong with the first bad one; None when all are good.
    """

    batches: tuple[Batch, ...]
    damage: DecodeError | None


def walk_headers(buffer: bytes) -> Iterator[BatchHeader]:
    """Yield the header of each whole batch, its checksum verified, from the first byte on.

    A batch at the end that is not all there ends the walk without a word: answers to Fetch are cut at a size.

    Raises:
        DecodeError: while iterating, at the first batch that is damaged. It begins where the ones before it end.
    """
    position = 0
    while True:
        size = batch_size_bytes(buffer, position)
        if size is None or size > len(buffer) - position:
            return
        # Nothing but the length is believed before the checksum is known to be right.
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
    """Return the batches of a Fetch answer up to the first that is damaged or does not follow the one before.

    A leader may hand out bytes that change while it sends them (KAFKA-18723); what comes before them is good, and the
    rest is fetched again.
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
        raise DecodeError(f"batch at offset {header.base_offset} where {previous.end_offset} was next")


def walk_batches(data: bytes) -> Iterator[Batch]:
    """Yield the whole batches in `data`, checksums verified; a partial batch at the end is left out.

    Raises:
        DecodeError: while iterating, at the first batch that is damaged.
    """
    position = 0
    for header in walk_headers(data):
        end = position + header.size_bytes
        yield Batch(header=header, payload=data[position:end])
        position = end
