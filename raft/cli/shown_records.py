"""The records that `kraft read` shows: all of a range, or the newest of each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raft.client import Client, Reader
from raft.client.view_end import ViewEnd
from raft.errors import ConfigError, CorruptBatchError, DecodeError, OffsetOutOfRangeError
from raft.records.batch import read_records
from raft.records.control import read_control_records
from raft.records.control_json import control_record_to_json
from raft.records.record import Record
from raft.types import Batch, Epoch, Offset

_FETCH_BYTES = 4 << 20

Shown = dict[str, Any]
"""A record for the output: offset, epoch, timestamp, key and value, perhaps headers; or `control` in place of these."""


def shown_records(client: Client, offset: Offset, end: Offset | None, *, control: bool) -> Iterator[Shown]:
    """Yield committed records in the order of their offsets.

    Args:
        client: of the quorum.
        offset: where to start.
        end: exclusive; None to wait for more records again and again.
        control: whether control records are yielded too.

    Raises:
        CorruptBatchError: a batch cannot be read.
        OffsetOutOfRangeError, QuorumUnavailableError: see `Client.fetch`.
    """
    reader = Reader(client, start=offset, fetch_bytes=_FETCH_BYTES)
    for batch in reader.batches(end):
        yield from _of_range(batch, reader.offset, end, control=control)


def newest_records(client: Client, end: ViewEnd) -> Iterator[Shown]:
    """Yield the newest record of each key that is not deleted, in the order of their offsets.

    Args:
        client: of the quorum.
        end: as of which they are the newest.

    Raises:
        ConfigError: they are not all left.
        CorruptBatchError, QuorumUnavailableError: see `shown_records`.
    """
    newest: dict[bytes, Shown] = {}
    reader = Reader(client, start=end.first_fetch(client.log_start_offset()), fetch_bytes=_FETCH_BYTES)
    while reader.offset < end.offset:
        try:
            fetched = reader.fetch()
        except OffsetOutOfRangeError as error:
            if not reader.offset < error.log_start_offset <= end.log_start_limit:
                raise
            # The log starts later now: the result is that of a read that begins later.
            newest = {}
            reader.seek(error.log_start_offset)
            if end.may_move:
                end.offset = max(end.offset, client.last_stable_offset())
            continue
        lost = end.why_incomplete(fetched.compacted_end)
        if lost is not None:
            raise ConfigError(f"--to {end.offset}: {lost}")
        for batch in reader.batches_in(fetched, end.offset):
            for shown in _of_range(batch, reader.offset, end.offset, control=False):
                _note(newest, shown)
    yield from newest.values()


def _note(newest: dict[bytes, Shown], shown: Shown) -> None:
    key = shown["key"]
    if key is None:
        return
    # A key that comes again moves to the end, so that the order is that of the offsets.
    newest.pop(key, None)
    if shown["value"] is not None:
        newest[key] = shown


def _of_range(batch: Batch, start: Offset, end: Offset | None, *, control: bool) -> Iterator[Shown]:
    """Yield the records of a batch that are in a range."""
    try:
        for shown in _of_batch(batch, control=control):
            if shown["offset"] >= start and (end is None or shown["offset"] < end):
                yield shown
    except DecodeError as error:
        offset = batch.header.base_offset
        raise CorruptBatchError(f"the batch with offset {offset} cannot be read: {error}") from error


def _of_batch(batch: Batch, *, control: bool) -> Iterator[Shown]:
    """Yield the records of a batch for the output; only control records have `control`.

    Raises:
        DecodeError: while iterating, at the first malformed record.
    """
    if not batch.header.is_control:
        for record in read_records(batch.payload):
            yield _described(record, batch.header.epoch)
    elif control:
        for control_record in read_control_records(batch.payload):
            yield {
                "offset": control_record.offset,
                "epoch": batch.header.epoch,
                "timestamp": control_record.timestamp_ms,
                "control": control_record_to_json(control_record),
            }


def _described(record: Record, epoch: Epoch) -> Shown:
    described: Shown = {
        "offset": record.offset,
        "epoch": epoch,
        "timestamp": record.timestamp_ms,
        "key": record.key,
        "value": record.value,
    }
    if record.headers:
        described["headers"] = list(record.headers)
    return described
