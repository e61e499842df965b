"""The table of writers. It depends on the log alone.

Every node keeps it, rebuilds it from the batch headers when it starts, and undoes it when the log is truncated. So the
next leader treats a repeated append as the former leader would have. The table covers the whole log up to its end, the
uncommitted tail included: a client whose append had no response cannot know whether it is in the tail and will be
committed later.

There are three kinds of writers, which expire at different times: idempotent producers, keyed writers that wrote
version 0 only, and keyed writers that wrote later versions. Each kind is kept in the order of its last writes. A writer
expires when a batch moves log time far enough, unless it is one of the newest of its kind (`raft.writers.expiry`). So
expiry depends on the log alone, too.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import NamedTuple

from raft.errors import ErrorCode
from raft.types import FIRST_KEYED_PRODUCER_ID, BatchHeader, Offset, WriteCommit
from raft.writers.expiry import NO_LOG_TIME_MS, WriterExpiry, log_time_after
from raft.writers.keys import is_part, version_of
from raft.writers.written import History, TableImage, Written, content_of

KEPT_BATCHES = 5
"""Most batches that an idempotent producer has in flight (Kafka: max.in.flight.requests.per.connection)."""

MAX_PRODUCERS = 10_000
"""Most idempotent producers that are remembered; one more replaces the one with the oldest last write. There is no such
limit for keys of keyed writes."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The batch is new: append it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """The batch is in the log already: append nothing, and respond when everything below `end_offset` is committed."""

    base_offset: Offset
    end_offset: Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Append nothing and respond `error`, once everything below `end_offset` is committed, or at once if that is None.

    `message` explains the error; None where its name is enough.
    """

    error: ErrorCode
    base_offset: Offset | None = None
    end_offset: Offset | None = None
    message: str | None = None


Verdict = Accepted | Repeated | Refused


_Kind = OrderedDict[int, History]
"""Writers of one kind, by producer id; the one with the oldest last write comes first. A plain dict would be slow here:
to find its first key, it passes over all keys that were removed before it."""


@dataclass(slots=True, kw_only=True)
class _Undo:
    """What a batch replaced, to be restored when the batch is truncated.

    Fields:
        base_offset: of the batch.
        log_time_ms: log time before it.
        producer_id: its writer; None when it has none.
        before: what was remembered of that writer.
        forgotten: writers that expired with the batch, or were replaced because of `max_producers`.
    """

    base_offset: Offset
    log_time_ms: int
    producer_id: int | None
    before: History | None = None
    forgotten: list[tuple[int, History]] = field(default_factory=list)


class WriterCounts(NamedTuple):
    """How many writers of each kind are remembered.

    Fields:
        producers: idempotent and transactional producers of Kafka's protocol.
        one_off_writers: writes that have one version only, such as plain batch writes.
        streams: writers of several versions, such as streaming queries.
    """

    producers: int
    one_off_writers: int
    streams: int


class WriterTable:
    """The last writes of each writer, newest last, with what is needed to undo the uncommitted ones.

    Args:
        max_producers: most idempotent producers that are remembered.
        expiry: how long writers are remembered; None for the defaults.
    """

    __slots__ = (
        "_committed",
        "_expiry",
        "_first_log_time_ms",
        "_log_time_ms",
        "_max_producers",
        "_one_off",
        "_producers",
        "_streams",
        "_undo",
    )

    def __init__(self, *, max_producers: int = MAX_PRODUCERS, expiry: WriterExpiry | None = None) -> None:
        self._max_producers = max_producers
        self._expiry = expiry or WriterExpiry()
        self._log_time_ms = NO_LOG_TIME_MS
        self._first_log_time_ms = NO_LOG_TIME_MS
        self._producers: _Kind = OrderedDict()
        self._one_off: _Kind = OrderedDict()
        self._streams: _Kind = OrderedDict()
        self._committed = Offset(0)
        self._undo: deque[_Undo] = deque()

    @property
    def counts(self) -> WriterCounts:
        """How many writers are remembered, uncommitted ones too."""
        return WriterCounts(
            producers=len(self._producers), one_off_writers=len(self._one_off), streams=len(self._streams)
        )

    def judge(self, header: BatchHeader) -> Verdict:
        """Decide whether a client's batch is new, repeated or refused."""
        if header.producer_id is None:
            return Accepted()
        if header.producer_id >= FIRST_KEYED_PRODUCER_ID:
            return self._judge_keyed_write(header.producer_id, header)
        return judge_idempotent_produce(self._producers.get(header.producer_id), header)

    def _judge_keyed_write(self, producer_id: int, header: BatchHeader) -> Verdict:
        history = self._remembered(producer_id)
        if history is None:
            return Accepted()
        last = history[-1]
        version = version_of(header.producer_epoch, header.base_sequence)
        if version > last.version:
            return Accepted()
        if version == last.version:
            return _judge_repeated_key(last, header, version)
        # It comes from a replaced driver, or from a restored checkpoint: a newer write has taken its place.
        return Refused(
            error=ErrorCode.DUPLICATE_SEQUENCE_NUMBER, base_offset=last.base_offset, end_offset=last.end_offset
        )

    def newest_write(self, producer_id: int) -> Written | None:
        """Return the newest write of a writer; None if none is remembered."""
        history = self._remembered(producer_id)
        return None if history is None else history[-1]

    def appended(self, header: BatchHeader) -> None:
        """Count a batch that was appended to the log.

        Control batches do not count, except the commit of a multipart write, which a client makes: the time of the
        others is that of a leader's clock, which its own core never sees. Parts are counted by
        `raft.transactions`, and here with their commit only.
        """
        if header.is_control and not isinstance(header.control_value, WriteCommit):
            return
        writer = None if is_part(header) else header.producer_id
        undo = _Undo(base_offset=header.base_offset, log_time_ms=self._log_time_ms, producer_id=writer)
        self._log_time_ms = log_time_after(self._log_time_ms, header)
        if self._first_log_time_ms == NO_LOG_TIME_MS:
            self._first_log_time_ms = self._log_time_ms
        if writer is not None:
            self._count_in(writer, header, undo)
        moves_log_time = self._log_time_ms != undo.log_time_ms
        if moves_log_time:
            self._forget_expired(undo)
        changes = writer is not None or moves_log_time
        # What is committed is never truncated. A start counts a whole log, and needs to undo its tail only.
        if changes and header.base_offset >= self._committed:
            self._undo.append(undo)

    def truncated(self, end_offset: Offset) -> None:
        """Undo every batch at `end_offset` or past it."""
        touched = False
        while self._undo and self._undo[-1].base_offset >= end_offset:
            self._put_back(self._undo.pop())
            touched = True
        if touched:
            for kind in (self._producers, self._one_off, self._streams):
                _sort_by_age(kind)

    def forget_everything(self) -> None:
        """Start with an empty table, because a snapshot without writers has replaced the log."""
        self._log_time_ms = self._first_log_time_ms = NO_LOG_TIME_MS
        for kind in (self._producers, self._one_off, self._streams):
            kind.clear()
        self._undo.clear()
        self._committed = Offset(0)

    def committed(self, high_watermark: Offset) -> None:
        """Drop what is needed to undo batches below the high watermark: they are never truncated."""
        self._committed = max(self._committed, high_watermark)
        while self._undo and self._undo[0].base_offset < high_watermark:
            self._undo.popleft()

    def image(self, end_offset: Offset) -> TableImage:
        """Return a copy of the table.

        Args:
            end_offset: the present end of the log.
        """
        histories = {**self._producers, **self._one_off, **self._streams}
        return TableImage(
            end_offset=end_offset,
            log_time_ms=self._log_time_ms,
            first_log_time_ms=self._first_log_time_ms,
            histories=histories,
        )

    def restore(self, image: TableImage) -> None:
        """Replace the table by an image of it; the batches from the image's end on are to be counted next."""
        self.forget_everything()
        self._log_time_ms = image.log_time_ms
        self._first_log_time_ms = image.first_log_time_ms
        for producer_id, history in image.histories.items():
            self._kind_of(producer_id, history)[producer_id] = history
        for kind in (self._producers, self._one_off, self._streams):
            _sort_by_age(kind)

    def _remembered(self, producer_id: int) -> History | None:
        if producer_id < FIRST_KEYED_PRODUCER_ID:
            return self._producers.get(producer_id)
        return self._streams.get(producer_id) or self._one_off.get(producer_id)

    def _kind_of(self, producer_id: int, history: History) -> _Kind:
        if producer_id < FIRST_KEYED_PRODUCER_ID:
            return self._producers
        return self._streams if history[-1].version > 0 else self._one_off

    def _count_in(self, producer_id: int, header: BatchHeader, undo: _Undo) -> None:
        written = Written.of(header, log_time_ms=self._log_time_ms)
        before = self._remembered(producer_id)
        if before is not None:
            # Removed and added again, so that the order remains that of the last writes.
            del self._kind_of(producer_id, before)[producer_id]
        undo.before = before
        is_keyed = producer_id >= FIRST_KEYED_PRODUCER_ID
        goes_on = before is not None and not is_keyed and before[-1].epoch == written.epoch
        history = (*(before or ()), written)[-KEPT_BATCHES:] if goes_on else (written,)
        self._kind_of(producer_id, history)[producer_id] = history
        if len(self._producers) > self._max_producers:
            self._forget_oldest(self._producers, undo)

    def _forget_expired(self, undo: _Undo) -> None:
        """Remove the writers that have expired. They are the first ones of their kind, so no others are looked at."""
        for kind, expiration_ms in (
            (self._producers, self._expiry.producer_ms),
            (self._one_off, self._expiry.producer_ms),
            (self._streams, self._expiry.writer_ms),
        ):
            while len(kind) > self._expiry.newest_kept and self._age_ms(next(iter(kind.values()))) >= expiration_ms:
                self._forget_oldest(kind, undo)

    def _age_ms(self, history: History) -> int:
        # The age of a write before the first timestamp is unknown; it counts as written at that time.
        return self._log_time_ms - max(history[-1].log_time_ms, self._first_log_time_ms)

    def _forget_oldest(self, kind: _Kind, undo: _Undo) -> None:
        undo.forgotten.append(kind.popitem(last=False))

    def _put_back(self, undo: _Undo) -> None:
        for producer_id, history in undo.forgotten:
            self._kind_of(producer_id, history)[producer_id] = history
        if undo.producer_id is not None:
            now = self._remembered(undo.producer_id)
            assert now is not None, f"producer id {undo.producer_id} wrote at {undo.base_offset}"
            del self._kind_of(undo.producer_id, now)[undo.producer_id]
            if undo.before is not None:
                self._kind_of(undo.producer_id, undo.before)[undo.producer_id] = undo.before
        self._log_time_ms = undo.log_time_ms
        if self._log_time_ms == NO_LOG_TIME_MS:
            self._first_log_time_ms = NO_LOG_TIME_MS


def judge_idempotent_produce(history: History | None, header: BatchHeader) -> Verdict:
    """Decide whether a batch of an idempotent producer is new, by the epoch and the sequence numbers.

    Args:
        history: what is remembered of the producer; None for nothing.
        header: of the batch.
    """
    starts_anew = header.base_sequence == 0
    if history is None:
        # A new leader may lack the first of several batches in flight, and must not accept the second without it.
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


def _sort_by_age(kind: _Kind) -> None:
    """Sort the writers of one kind by their last writes, which is the order in which they expire."""
    by_age = sorted(kind.items(), key=lambda item: item[1][-1].base_offset)
    kind.clear()
    kind.update(by_age)


def _judge_repeated_key(written: Written, header: BatchHeader, version: int) -> Verdict:
    """Compare a batch with the one that was written under the same key.

    With a copied checkpoint, or a writer's name that is used twice, other rows come with the key of an earlier write.
    They must not be acknowledged, because they are not in the log.
    """
    record_count, checksum = content_of(header)
    if record_count != written.record_count:
        difference = f"record count {record_count}"
    elif None not in (written.content_checksum, checksum) and checksum != written.content_checksum:
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
