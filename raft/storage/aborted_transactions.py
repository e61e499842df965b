"""The aborted transactions of a part of the log, from the indexes of its segments."""

from __future__ import annotations

from collections.abc import Container

from raft.storage.log import Log
from raft.storage.spans import end_offset_of, producer_ids_of
from raft.transactions import AbortedTransaction
from raft.types import Offset

MANY = 100
"""As many aborted transactions are named without a look at each batch."""


def aborted_in(
    log: Log, start_offset: Offset, end_offset: Offset, *, producer_ids: Container[int] | None = None
) -> list[AbortedTransaction]:
    """Return the aborted transactions with records or a marker in a range, in the order of their markers.

    Args:
        log: the log.
        start_offset: start of the range.
        end_offset: end of the range, at most the last stable offset.
        producer_ids: only transactions of these producers; None for all.

    Source: Kafka UnifiedLog.collectAbortedTransactions.
    """
    found: list[AbortedTransaction] = []
    for segment in log.files_from(start_offset):
        if not segment.indexes.has_aborted:
            continue
        here, has_more = segment.indexes.aborted.overlapping(start_offset, end_offset, producer_ids)
        found += here
        if not has_more:
            break
    return found


def aborted_among(log: Log, start_offset: Offset, records: bytes) -> list[AbortedTransaction]:
    """Return the aborted transactions among batches that were read from a log.

    Those without a batch among them are left out if there are many: tens of thousands of transactions may be open at
    one offset, and a response of a few records would name them all.

    Args:
        log: the log.
        start_offset: where the read began.
        records: whole batches, all below the last stable offset.

    Raises:
        DecodeError: a batch is damaged.
    """
    if not records or not any(segment.indexes.has_aborted for segment in log.files_from(start_offset)):
        return []
    found = aborted_in(log, start_offset, end_offset_of(records))
    if len(found) <= MANY:
        return found
    present = producer_ids_of(records)
    return [each for each in found if each.producer_id in present]
