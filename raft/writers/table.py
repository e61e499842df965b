"""The table of writers: a function of the log, and of nothing else.

Every node keeps it, rebuilds it from the batch headers at start, and undoes it when the log is cut; so whichever node
leads next judges a repeated append as the old leader would have. It covers the whole log up to its end, the uncommitted
tail included: a client cannot know whether a lost append is still in there and will commit later.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from raft.errors import ErrorCode
from raft.types import FIRST_SINK_PRODUCER_ID, BatchHeader, Offset
from raft.writers.keys import version_of

KEPT_BATCHES = 5
"""So many batches an idempotent producer may have under way at once (Kafka: max.in.flight.requests.per.connection)."""

MAX_PRODUCERS = 10_000
"""Idempotent producers remembered; beyond, the one that has not written for longest goes. Keys of exactly-once writes
are never forgotten."""

_SEQUENCES = 1 << 31


@dataclass(frozen=True, slots=True)
class Accepted:
    """The batch is new: append it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The batch is there already: append nothing, and answer when everything below `end_offset` is committed."""

    base_offset: Offset
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Append nothing and answer `error`, once everything below `end_offset` is committed (at once when None).

    `message` tells the client more than the error's name does; None where the name says it all.
    """

    error: ErrorCode
    base_offset: Offset | None = None
    end_offset: Offset | None = None
    message: str | None = None


Verdict = Accepted | Repeated | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """One remembered batch; `content_checksum` is that of `BatchHeader`."""

    epoch: int
    sequence: int
    record_count: int
    base_offset: Offset
    end_offset: Offset
    content_checksum: int | None

    @property
    def next_sequence(self) -> int:
        return (self.sequence + self.record_count) % _SEQUENCES


_History = tuple[_Written, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Undo:
    """What a batch replaced: to be put back when the batch is cut off."""

    base_offset: Offset
    producer_id: int
    before: _History | None
    evicted: tuple[int, _History] | None = None


class WriterTable:
    """The last writes of each writer, newest last, with what it takes to undo the uncommitted ones."""

    __slots__ = ("_max_producers", "_producers", "_sinks", "_undo")

    def __init__(self, *, max_producers: int = MAX_PRODUCERS) -> None:
        self._max_producers = max_producers
        self._producers: dict[int, _History] = {}
        self._sinks: dict[int, _History] = {}
        self._undo: deque[_Undo] = deque()

    def judge(self, header: BatchHeader) -> Verdict:
        """Say what a leader has to do with a batch that a client asks it to append."""
        if header.producer_id is None:
            return Accepted()
        if header.producer_id >= FIRST_SINK_PRODUCER_ID:
            return self._judge_keyed_write(header)
        return self._judge_idempotent_produce(header)

    def _judge_keyed_write(self, header: BatchHeader) -> Verdict:
        history = self._sinks.get(header.producer_id or 0)
        if history is None:
            return Accepted()
        last = history[-1]
        version = version_of(header.producer_epoch, header.base_sequence)
        last_version = version_of(last.epoch, last.sequence)
        if version > last_version:
            return Accepted()
        if version == last_version:
            return _judge_repeated_key(last, header, version)
        # A replaced driver, or a checkpoint set back: whatever it wants to write was decided by the newer one.
        return Refused(
            error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=last.base_offset, end_offset=last.end_offset
        )

    def _judge_idempotent_produce(self, header: BatchHeader) -> Verdict:
        history = self._producers.get(header.producer_id or 0)
        starts_anew = header.base_sequence == 0
        if history is None:
            # A new leader may lack the first of several pipelined batches: only the first may begin a history.
            return Accepted() if starts_anew else Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        last = history[-1]
        if header.producer_epoch < last.epoch:
            return Refused(error=ErrorCode.INVALID_PRODUCER_EPOCH)
        if header.producer_epoch > last.epoch:
            return Accepted() if starts_anew else Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
        for written in history:
            if (written.sequence, written.record_count) == (header.base_sequence, header.record_count):
                return Repeated(base_offset=written.base_offset, end_offset=written.end_offset)
        if header.base_sequence == last.next_sequence:
            return Accepted()
        return Refused(error=ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def appended(self, header: BatchHeader) -> None:
        """Count in a batch that is now at the end of the log."""
        if header.producer_id is None or header.is_control:
            return
        written = _Written(
            epoch=header.producer_epoch,
            sequence=header.base_sequence,
            record_count=header.record_count,
            base_offset=header.base_offset,
            end_offset=header.end_offset,
            content_checksum=header.content_checksum,
        )
        is_sink = header.producer_id >= FIRST_SINK_PRODUCER_ID
        writers = self._sinks if is_sink else self._producers
        before = writers.pop(header.producer_id, None)
        undo = _Undo(base_offset=header.base_offset, producer_id=header.producer_id, before=before)
        if is_sink or before is None or before[-1].epoch != written.epoch:
            writers[header.producer_id] = (written,)
        else:
            writers[header.producer_id] = (*before, written)[-KEPT_BATCHES:]
        if len(self._producers) > self._max_producers:
            oldest = next(iter(self._producers))
            undo = replace(undo, evicted=(oldest, self._producers.pop(oldest)))
        self._undo.append(undo)

    def truncated(self, end_offset: Offset) -> None:
        """Undo every batch at `end_offset` or past it."""
        touched = False
        while self._undo and self._undo[-1].base_offset >= end_offset:
            undo = self._undo.pop()
            writers = self._sinks if undo.producer_id >= FIRST_SINK_PRODUCER_ID else self._producers
            del writers[undo.producer_id]
            if undo.before is not None:
                writers[undo.producer_id] = undo.before
            if undo.evicted is not None:
                self._producers[undo.evicted[0]] = undo.evicted[1]
            touched = True
        if touched:
            # Order is age: it decides who is forgotten first, and must not depend on what was cut.
            self._producers = dict(sorted(self._producers.items(), key=lambda item: item[1][-1].base_offset))

    def forget_everything(self) -> None:
        """The log begins anew, behind a snapshot that says nothing of writers."""
        self._producers.clear()
        self._sinks.clear()
        self._undo.clear()

    def committed(self, high_watermark: Offset) -> None:
        """Forget how to undo what can no longer be cut."""
        while self._undo and self._undo[0].base_offset < high_watermark:
            self._undo.popleft()


def _judge_repeated_key(written: _Written, header: BatchHeader, version: int) -> Verdict:
    """Compare what the key of an exactly-once write has written with what comes under the same key.

    A copied checkpoint, or a name of a writer that is used twice, gives the key of one write to other rows. They must
    not be acknowledged: they are not in the log.
    """
    if header.record_count != written.record_count:
        difference = f"record count {header.record_count}"
    elif None not in (written.content_checksum, header.content_checksum) and (
        header.content_checksum != written.content_checksum
    ):
        difference = "the same record count, but other records"
    else:
        return Repeated(base_offset=written.base_offset, end_offset=written.end_offset)
    return Refused(
        error=ErrorCode.DUPLICATE_RESOURCE,
        base_offset=written.base_offset,
        end_offset=written.end_offset,
        message=f"version {version} of producer id {header.producer_id} was written at offset {written.base_offset} "
        f"with record count {written.record_count}; the batch that came has {difference}",
    )
