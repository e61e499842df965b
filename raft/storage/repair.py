"""Writes the right batches in the place of damaged ones (LOG-31).

All replicas have the same bytes of a batch, so the right batches take exactly the place of the damaged ones. They are
written in place, flushed, and read again. A crash in between leaves the range as damaged as it was, or a part of it
whole; what is left is found again.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError
from raft.records.header_fields import with_base_offset_and_epoch
from raft.storage.damage import DamagedPart, KnownDamage
from raft.storage.damage_search import end_of
from raft.storage.log import Log
from raft.storage.segment import Segment
from raft.storage.survey import Survey
from raft.types import Batch, NodeId, Offset

_logger = logging.getLogger(__name__)


def repair_batches(log: Log, known: KnownDamage, batches: Sequence[Batch], source: NodeId) -> bool:
    """Replace damaged batches, and return whether they are sound now.

    Args:
        log: the log.
        known: the damage; what is repaired is removed.
        batches: what the damaged bytes should be, from the start of a damaged range on; perhaps not all of it.
        source: the node that has sent them.

    Raises:
        StorageError: the disk returned an error.
    """
    part = known.batches_from(batches[0].header.base_offset)
    segment = None if part is None else _segment_of(log, part)
    if part is None or segment is None:
        return False  # A truncation, a snapshot or another read of the same bytes came first.
    data = b"".join(
        with_base_offset_and_epoch(each.payload, each.header.base_offset, each.header.epoch) for each in batches
    )
    end_offset = batches[-1].header.end_offset
    if not _fits(part, len(data), end_offset):
        _logger.error(
            "not repaired: node %s sent %s bytes up to offset %s for %s damaged bytes up to offset %s; %s",
            source,
            len(data),
            end_offset,
            part.size_bytes,
            part.end_offset,
            part.reason,
        )
        return False
    log.overwrite(segment, part.position, data)
    if not _is_sound(log, segment, part, len(data), end_offset):
        _logger.error("not repaired: the disk has other bytes than were written; %s", part.reason)
        return False
    known.repaired(part, end_offset=end_offset, size_bytes=len(data))
    _logger.warning(
        "repaired %s bytes at offsets %s to %s of segment %s from node %s",
        len(data),
        part.start_offset,
        end_offset,
        segment.path,
        source,
    )
    return True


def _segment_of(log: Log, part: DamagedPart) -> Segment | None:
    return next((each for each in log.segments_from(part.start_offset) if each.path == part.path), None)


def _fits(part: DamagedPart, size_bytes: int, end_offset: Offset) -> bool:
    """Whether batches end exactly where the damage ends, or before its end in both respects."""
    if end_offset == part.end_offset:
        return size_bytes == part.size_bytes
    return end_offset < part.end_offset and size_bytes < part.size_bytes


def _is_sound(log: Log, segment: Segment, part: DamagedPart, size_bytes: int, end_offset: Offset) -> bool:
    """Read what was written again, and check it."""
    survey = Survey(
        segment,
        EpochCache(log.epochs),
        end_offset=end_of(log, segment),
        position=part.position,
        offset=part.start_offset,
    )
    try:
        damage = survey.advance(size_bytes, end_offset)
    except CorruptBatchError:
        return False
    return not damage and (survey.position, survey.offset) == (part.position + size_bytes, end_offset)
