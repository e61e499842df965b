"""Finds out how much is damaged around a place at which a read has failed (LOG-29)."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError
from raft.storage.damage import DamagedPart, KnownDamage
from raft.storage.log import Log
from raft.storage.segment import Segment
from raft.storage.survey import Survey, survey_of_damage
from raft.types import Damaged, Offset

_PIECE_BYTES = 64 << 10


def note_damage(log: Log, known: KnownDamage, error: CorruptBatchError) -> None:
    """Note what is damaged where a read of the log has failed.

    Args:
        log: the log.
        known: what is known; the new damage is added.
        error: of the read.
    """
    for segment in log.segments_from(log.start_offset):
        if error.path == segment.path and error.position is not None:
            _note_batches(log, known, segment, error.position)
        elif error.path in segment.indexes.paths:
            known.add(damaged_index(segment, end_of(log, segment), error))


def check_segments(log: Log, base_offsets: Sequence[Offset]) -> Generator[None, None, None]:
    """Check segments from their begin to their end. It yields after each piece.

    Args:
        log: the log.
        base_offsets: of the segments. Those that are gone when it is their turn are left out.

    Raises:
        CorruptBatchError: at the first damage.
    """
    for base_offset in base_offsets:
        position, offset = 0, base_offset
        while (segment := _segment_at(log, base_offset)) is not None and position < segment.size_bytes:
            survey = Survey(
                segment, EpochCache(log.epochs), end_offset=end_of(log, segment), position=position, offset=offset
            )
            for part in survey.advance(_PIECE_BYTES, log.end_offset):
                raise CorruptBatchError(part.reason, path=part.path, position=part.position)
            if survey.position == position:
                break
            position, offset = survey.position, survey.offset
            yield


def _segment_at(log: Log, base_offset: Offset) -> Segment | None:
    return next((each for each in log.segments_from(base_offset)[:1] if each.base_offset == base_offset), None)


def end_of(log: Log, segment: Segment) -> Offset:
    """Return where a segment ends."""
    following = log.segments_from(segment.base_offset)[1:]
    return following[0].base_offset if following else log.end_offset


def damaged_index(segment: Segment, end_offset: Offset, error: CorruptBatchError) -> DamagedPart:
    """Return a damaged index, without which no record of its segment is found.

    Args:
        segment: the segment.
        end_offset: where it ends.
        error: what is wrong.
    """
    return DamagedPart(
        path=error.path or segment.path,
        kind=Damaged.INDEX,
        start_offset=segment.base_offset,
        end_offset=end_offset,
        position=0,
        end_position=segment.indexes.size_bytes,
        reason=str(error),
    )


def damaged_snapshot(path: str, end_offset: Offset, size_bytes: int, error: CorruptBatchError) -> DamagedPart:
    """Return a damaged snapshot.

    Args:
        path: of its file.
        end_offset: where it ends.
        size_bytes: of its file.
        error: what is wrong.
    """
    return DamagedPart(
        path=path,
        kind=Damaged.SNAPSHOT,
        start_offset=Offset(0),
        end_offset=end_offset,
        position=0,
        end_position=size_bytes,
        reason=str(error),
    )


def _note_batches(log: Log, known: KnownDamage, segment: Segment, position: int) -> None:
    survey = survey_of_damage(segment, EpochCache(log.epochs), position=position, end_offset=end_of(log, segment))
    while not survey.is_over and survey.position <= position:
        for part in survey.advance(_PIECE_BYTES, log.end_offset):
            known.add(part)
