"""Reads a segment batch by batch, and finds where damage begins and where it ends (LOG-26, LOG-29).

A batch is sound if its length, magic and checksum are right, it begins where the batch before ends, and it has the
epoch of the epoch cache there. Offset and epoch are not covered by the checksum, so only this comparison protects them.

    | sound | damaged                     | sound |
            ^ expected offset             ^ the next known boundary

The damage ends at the end of the batch by its own length, if a sound batch or the end of the segment is there.
Otherwise the length may be wrong: then it ends at the next indexed batch that is sound, or at the end of the segment.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError, DecodeError
from raft.records.header import read_header
from raft.records.header_fields import PLACE_BYTES, check_crc, place_at
from raft.storage.damage import DamagedPart
from raft.storage.segment import Segment
from raft.types import BatchHeader, Damaged, Offset


class Survey:
    """The survey of one segment.

    Args:
        segment: the segment.
        epochs: of its log.
        end_offset: where the segment ends.
        position: where to begin: at a sound batch, or at the start of the segment.
        offset: of that batch.

    Attributes:
        position: of the next batch.
        offset: of the next batch.
    """

    def __init__(
        self,
        segment: Segment,
        epochs: EpochCache,
        *,
        end_offset: Offset,
        position: int = 0,
        offset: Offset | None = None,
    ) -> None:
        self.position = position
        self.offset = segment.base_offset if offset is None else offset
        self._segment = segment
        self._epochs = epochs
        self._end_offset = end_offset

    @property
    def is_over(self) -> bool:
        """Whether the end of the segment is reached."""
        return self.position >= self._segment.size_bytes

    def advance(self, max_bytes: int, end_offset: Offset) -> list[DamagedPart]:
        """Check the next batches; return the damaged parts among them.

        Args:
            max_bytes: about how many bytes to check.
            end_offset: no batch is checked that begins here or after.
        """
        found: list[DamagedPart] = []
        end_position = self.position + max_bytes
        while self.position < min(end_position, self._segment.size_bytes) and self.offset < end_offset:
            try:
                self._walk(end_position, end_offset)
            except CorruptBatchError as damage:
                part = self._damaged_part(str(damage))
                self.position, self.offset = part.end_position, part.end_offset
                found.append(part)
        return found

    def _walk(self, end_position: int, end_offset: Offset) -> None:
        for header in self._segment.headers_from(self.position, read_bytes=end_position - self.position):
            self._check_place(header)
            self.offset = header.end_offset
            self.position += header.size_bytes
            if self.position >= end_position or self.offset >= end_offset:
                return

    def _check_place(self, header: BatchHeader) -> None:
        epoch = self._epochs.epoch_before(Offset(self.offset + 1))
        if header.base_offset != self.offset or epoch not in (None, header.epoch):
            raise CorruptBatchError(
                f"{self._segment.path} is damaged at byte {self.position}: batch at offset {header.base_offset} of "
                f"epoch {header.epoch}, expected offset {self.offset} of epoch {epoch}"
            )

    def _damaged_part(self, reason: str) -> DamagedPart:
        end_position, end_offset = next(self._boundaries(), (self._segment.size_bytes, self._end_offset))
        return DamagedPart(
            path=self._segment.path,
            kind=Damaged.BATCHES,
            start_offset=self.offset,
            end_offset=end_offset,
            position=self.position,
            end_position=end_position,
            reason=reason,
        )

    def _boundaries(self) -> Iterator[tuple[int, Offset]]:
        """Yield the places after the damage that are certain: position, and offset there."""
        size_bytes = self._segment.size_bytes
        place = self._segment.read_at(self.position, PLACE_BYTES)
        with suppress(DecodeError):
            end_position = self.position + (place_at(place, 0)[2] if len(place) == PLACE_BYTES else size_bytes)
            if end_position == size_bytes:
                yield end_position, self._end_offset
            elif (base_offset := self._sound_at(end_position)) is not None:
                yield end_position, base_offset
        with suppress(CorruptBatchError):
            # An index that is damaged leaves the end of the segment.
            for last_offset, position in self._segment.indexes.entries_behind(self.position):
                base_offset = self._sound_at(position, last_offset=last_offset)
                if base_offset is not None:
                    yield position, base_offset

    def _sound_at(self, position: int, *, last_offset: Offset | None = None) -> Offset | None:
        """Return the base offset of the batch at a position; None if no batch that can follow is there."""
        with suppress(CorruptBatchError, DecodeError):
            if position < self._segment.size_bytes:
                header = sound_header_at(self._segment, position)
                fits = self.offset < header.base_offset < self._end_offset
                if fits and last_offset in (None, header.last_offset):
                    return header.base_offset
        return None


def sound_header_at(segment: Segment, position: int) -> BatchHeader:
    """Return the header of the batch at a position, after a check of its checksum.

    Raises:
        CorruptBatchError, DecodeError: it is damaged, or no batch begins there.
    """
    payload = segment.batch_at(position)
    check_crc(payload, 0, len(payload))
    return read_header(payload)


def survey_of_damage(segment: Segment, epochs: EpochCache, *, position: int, end_offset: Offset) -> Survey:
    """Return a survey that begins at the last batch before a position whose offset is certain.

    Args:
        segment: the segment.
        epochs: of its log.
        position: at which damage was found.
        end_offset: where the segment ends.
    """
    with suppress(CorruptBatchError):
        for last_offset, at in segment.indexes.entries_before(position):
            with suppress(CorruptBatchError, DecodeError):
                header = sound_header_at(segment, at)
                if header.last_offset == last_offset:
                    return Survey(segment, epochs, end_offset=end_offset, position=at, offset=header.base_offset)
    return Survey(segment, epochs, end_offset=end_offset)
