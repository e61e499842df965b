"""The table of transactions. It depends on the log alone.

Like the table of writers, every node keeps it, rebuilds it from the batch headers when it starts, and undoes it when
the log is truncated. So a new leader knows which transactions are open and which commits it has to complete, and every
node knows its last stable offset.

Kafka's last stable offset is the offset below which every record is committed and its transaction has ended. A
transaction ends with its marker, and the parts of a multipart write end together, with the last marker of the write. A
marker that is not committed yet may still be truncated, so it ends nothing before it is below the high watermark.

The last stable offset of this project may be lower: it is never within a multipart write, because a reader would see
its first records without the others. So the writes that have ended are remembered until Kafka's last stable offset has
passed them.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from raft.transactions.ended_writes import EndedWrites
from raft.transactions.image import CommitImage, EndedWrite, TransactionsImage
from raft.transactions.journal import Journal
from raft.transactions.transaction import AbortedTransaction, OpenTransaction, TransactionalProducer
from raft.types import BatchHeader, ControlType, Offset, TransactionalId, WriteCommit
from raft.writers import is_of_part, is_part, tag_of

MAX_TRANSACTIONAL_IDS = 10_000
"""Most transactional ids that are remembered; one more replaces the one whose last use is the oldest."""

Key = TypeVar("Key")
Value = TypeVar("Value")

_BEHIND_EVERY_LOG = Offset((1 << 63) - 1)
_END_TYPES = (ControlType.ABORT, ControlType.COMMIT)


@dataclass(frozen=True, slots=True)
class _Commit:
    """A multipart write that is committed and not ended.

    Fields:
        offset: of its WRITE_COMMIT record.
        first_offset: of the first record of all its parts.
        missing_count: how many COMMIT markers are missing.
    """

    offset: Offset
    first_offset: Offset
    missing_count: int


@dataclass(frozen=True, slots=True)
class _Ended:
    """One or more transactions that ended with the marker before `end_offset`; the first began at `first_offset`."""

    first_offset: Offset
    end_offset: Offset
    is_write: bool


class TransactionTable:
    """The open transactions and the transactional ids, with what is needed to undo the uncommitted ones.

    Args:
        max_transactional_ids: most transactional ids that are remembered.
    """

    __slots__ = (
        "_commit_of",
        "_commits",
        "_ended",
        "_ended_writes",
        "_forgettable",
        "_journal",
        "_max_transactional_ids",
        "_name_of",
        "_open",
        "_part_counts",
        "_producers",
    )

    def __init__(self, *, max_transactional_ids: int = MAX_TRANSACTIONAL_IDS) -> None:
        self._max_transactional_ids = max_transactional_ids
        self._journal = Journal()
        # An OrderedDict finds its first key at once; a dict passes over all keys that were removed before it.
        self._open: OrderedDict[int, OpenTransaction] = OrderedDict()
        self._part_counts: dict[int, int] = {}
        self._producers: OrderedDict[str, TransactionalProducer] = OrderedDict()
        # Those without an open transaction, and some that were found to have one since: their end adds them again.
        self._forgettable: OrderedDict[str, TransactionalProducer] = OrderedDict()
        self._name_of: dict[int, str] = {}
        self._commits: OrderedDict[Offset, _Commit] = OrderedDict()
        self._commit_of: dict[int, Offset] = {}
        # Those above the high watermark, and below it the writes among them.
        self._ended: deque[_Ended] = deque()
        self._ended_writes = EndedWrites()

    # Reading

    @property
    def transactions(self) -> Mapping[int, OpenTransaction]:
        """The open transactions by producer id, in the order in which they began."""
        return self._open

    @property
    def producers(self) -> Mapping[str, TransactionalProducer]:
        """The producers with a transactional id, by that id."""
        return self._producers

    def producer_with(self, producer_id: int) -> TransactionalProducer | None:
        """Return the producer that has a transactional id and this producer id, or None."""
        name = self._name_of.get(producer_id)
        return None if name is None else self._producers[name]

    @property
    def has_parts(self) -> bool:
        """Whether parts of any multipart write are open."""
        return bool(self._part_counts)

    def parts(self, tag: int) -> list[OpenTransaction]:
        """Return the open parts of the multipart write with this tag, in the order in which they began.

        Parts that a WRITE_COMMIT names are left out: they are committed, and only their markers are missing.
        """
        if tag not in self._part_counts:
            return []
        return [
            transaction
            for producer_id, transaction in self._open.items()
            if transaction.history and tag_of(producer_id) == tag and producer_id not in self._commit_of
        ]

    @property
    def unmarked(self) -> list[OpenTransaction]:
        """The parts that a WRITE_COMMIT in the log names, and whose COMMIT markers are missing; in order."""
        parts = [self._open[producer_id] for producer_id in self._commit_of]
        return sorted(parts, key=_first_offset)

    @property
    def unmarked_count(self) -> int:
        """How many `unmarked` parts there are."""
        return len(self._commit_of)

    @property
    def ends_committed_at(self) -> Offset:
        """When everything below this offset is committed, every transaction that has ended so far is."""
        return self._ended[-1].end_offset if self._ended else Offset(0)

    def has_parts_of(self, tag: int) -> bool:
        """Whether parts of the multipart write with this tag are open."""
        return tag in self._part_counts

    def last_stable_offset(self, high_watermark: Offset) -> Offset:
        """Return the offset below which every record is committed, its transaction has ended, and its write is whole.

        It never falls when the high watermark rises: a write that a higher one is within was open at the lower one, or
        had ended there and held it back as well.
        """
        stable = self.kafkas_stable_offset(high_watermark)
        write = self.ended_write_around(stable, high_watermark)
        return stable if write is None else write.first_offset

    def kafkas_stable_offset(self, high_watermark: Offset) -> Offset:
        """Return the offset below which every record is committed and its transaction has ended."""
        stable = min(high_watermark, self._first_open(high_watermark))
        for ended in self._ended:
            if ended.end_offset > high_watermark:
                stable = min(stable, ended.first_offset)
        return stable

    @property
    def has_ended_writes(self) -> bool:
        """Whether there is an ended multipart write below the high watermark that is not stable yet."""
        return bool(self._ended_writes)

    def ended_write_around(self, stable_offset: Offset, high_watermark: Offset) -> EndedWrite | None:
        """Return the write, or those that overlap, within which Kafka's last stable offset is; None for none."""
        return self._writes_ended_below(high_watermark).around(stable_offset)

    def _writes_ended_below(self, high_watermark: Offset) -> EndedWrites:
        later = [each for each in self._ended if each.is_write and each.end_offset <= high_watermark]
        if not later:
            return self._ended_writes
        writes = EndedWrites(self._ended_writes)
        for each in later:
            writes.add(each.first_offset, each.end_offset)
        return writes

    def _first_open(self, otherwise: Offset) -> Offset:
        """Return where the first transaction that has not ended begins; `otherwise` if there is none."""
        firsts = [commit.first_offset for commit in self._commits.values()]
        if self._open:
            firsts.append(next(iter(self._open.values())).first_offset)
        return min(firsts, default=otherwise)

    # Following the log

    def appended(self, header: BatchHeader) -> AbortedTransaction | None:
        """Count a batch that was appended to the log; return the transaction that it aborts, if it does."""
        if not (header.is_transactional or header.control_value is not None):
            return None
        self._journal.begin(header.base_offset)
        match header.control_value:
            case WriteCommit() as commit:
                self._begin_commit(header, commit)
            case TransactionalId() as value:
                self._name(TransactionalProducer.of(header, value))
            case None if header.producer_id is not None:
                if not header.is_control:
                    self._continue(header, header.producer_id)
                elif header.control_types[0] in _END_TYPES:
                    return self._end(header, header.producer_id, ControlType(header.control_types[0]))
            case _:
                pass
        return None

    def truncated(self, end_offset: Offset) -> None:
        """Undo every batch at `end_offset` or past it."""
        while self._ended and self._ended[-1].end_offset > end_offset:
            self._ended.pop()
        if self._journal.undo(end_offset):
            _sort(self._open, _first_offset)
            _sort(self._producers, lambda producer: producer.used_at)
            _sort(self._forgettable, lambda producer: producer.used_at)
            _sort(self._commits, lambda commit: commit.offset)

    def committed(self, high_watermark: Offset) -> None:
        """Forget what is needed to undo batches below the high watermark: they are never truncated."""
        self._journal.committed(high_watermark)
        self._pass_ended(high_watermark)

    def _pass_ended(self, high_watermark: Offset) -> None:
        while self._ended and self._ended[0].end_offset <= high_watermark:
            ended = self._ended.popleft()
            if ended.is_write:
                self._ended_writes.add(ended.first_offset, ended.end_offset)
        if self._ended_writes:
            self._ended_writes.forget(self.kafkas_stable_offset(high_watermark))

    def forget_everything(self) -> None:
        """Start with an empty table, because a snapshot has replaced the log."""
        for table in (self._open, self._part_counts, self._producers, self._forgettable, self._name_of):
            table.clear()
        self._commits.clear()
        self._commit_of.clear()
        self._ended.clear()
        self._ended_writes.clear()
        self._journal.forget_everything()

    def image(self) -> TransactionsImage:
        """Return a copy of the table. It is used once the whole log is committed that the table is of."""
        writes = EndedWrites(self._writes_ended_below(_BEHIND_EVERY_LOG))
        writes.forget(self._first_open(_BEHIND_EVERY_LOG))
        missing: dict[Offset, list[int]] = {offset: [] for offset in self._commits}
        for producer_id, offset in self._commit_of.items():
            missing[offset].append(producer_id)
        return TransactionsImage(
            transactions=tuple(self._open.values()),
            producers=tuple(self._producers.values()),
            commits=tuple(
                CommitImage(offset=offset, first_offset=commit.first_offset, missing=tuple(sorted(missing[offset])))
                for offset, commit in self._commits.items()
            ),
            ended_writes=tuple(writes),
        )

    def restore(self, image: TransactionsImage) -> None:
        """Replace the table by an image of it; the batches from the image's end on are to be counted next."""
        self.forget_everything()
        for transaction in image.transactions:
            self._open[transaction.producer_id] = transaction
            if is_of_part(transaction.producer_id):
                tag = tag_of(transaction.producer_id)
                self._part_counts[tag] = self._part_counts.get(tag, 0) + 1
        for producer in image.producers:
            self._producers[producer.name] = self._forgettable[producer.name] = producer
            self._name_of[producer.producer_id] = producer.name
        for commit in image.commits:
            self._commits[commit.offset] = _Commit(commit.offset, commit.first_offset, len(commit.missing))
            self._commit_of.update(dict.fromkeys(commit.missing, commit.offset))
        self._ended_writes = EndedWrites(image.ended_writes)

    # Changes, all of them through the journal

    def _continue(self, header: BatchHeader, producer_id: int) -> None:
        before = self._open.get(producer_id)
        if before is not None:
            self._journal.put(self._open, producer_id, before.continued_by(header))
            return
        self._journal.put(self._open, producer_id, OpenTransaction.begun_by(header))
        if is_part(header):
            self._count_part(producer_id, 1)

    def _end(self, header: BatchHeader, producer_id: int, end: ControlType) -> AbortedTransaction | None:
        """Count an end marker. A marker without a transaction ends nothing; it may raise the producer's epoch."""
        name = self._name_of.get(producer_id)
        if name is not None:
            self._use(self._producers[name].ended_by(header, end))
        transaction = self._journal.take(self._open, producer_id)
        if transaction is None:
            return None
        if is_part(header):
            self._count_part(producer_id, -1)
        self._count_ended(transaction, header.end_offset)
        if self._journal.is_committed(header.base_offset):
            # A start counts a whole log, and remembers no end in it for longer than while the log was written.
            self._pass_ended(header.end_offset)
        if end is ControlType.COMMIT:
            return None
        return AbortedTransaction(
            producer_id=producer_id,
            first_offset=transaction.first_offset,
            last_offset=header.last_offset,
            last_stable_offset=self._first_open(header.end_offset),
        )

    def _count_ended(self, transaction: OpenTransaction, end_offset: Offset) -> None:
        offset = self._journal.take(self._commit_of, transaction.producer_id)
        if offset is None:
            self._ended.append(_Ended(transaction.first_offset, end_offset, is_write=False))
            return
        commit = self._commits[offset]
        if commit.missing_count > 1:
            self._journal.put(self._commits, offset, replace(commit, missing_count=commit.missing_count - 1))
        else:
            self._journal.take(self._commits, offset)
            self._ended.append(_Ended(commit.first_offset, end_offset, is_write=True))

    def _begin_commit(self, header: BatchHeader, commit: WriteCommit) -> None:
        parts = [self._open[part.producer_id] for part in commit.parts if part.producer_id in self._open]
        if not parts:
            return
        for part in parts:
            self._journal.put(self._commit_of, part.producer_id, header.base_offset)
        first_offset = min(part.first_offset for part in parts)
        self._journal.put(self._commits, header.base_offset, _Commit(header.base_offset, first_offset, len(parts)))

    def _name(self, producer: TransactionalProducer) -> None:
        before = self._producers.get(producer.name)
        if before is not None and producer.previous == before.previous:
            # It has a new producer id, because the epochs of the one before are used up.
            producer = replace(producer, last_end=before.last_end)
        if before is not None:
            self._journal.take(self._name_of, before.producer_id)
        other = self._name_of.get(producer.producer_id)
        if other is not None:
            self._forget(self._producers[other])
        self._use(producer)
        self._journal.put(self._name_of, producer.producer_id, producer.name)
        if len(self._producers) > self._max_transactional_ids:
            self._forget_oldest_producer(but=producer)

    def _use(self, producer: TransactionalProducer) -> None:
        # Removed and added again, so that the order remains that of the last uses.
        for table in (self._producers, self._forgettable):
            self._journal.take(table, producer.name)
            self._journal.put(table, producer.name, producer)

    def _forget_oldest_producer(self, *, but: TransactionalProducer) -> None:
        """Forget the producer whose last use is the oldest; not one with an open transaction, nor the new one.

        Each one with an open transaction is looked at once until that ends: there may be tens of thousands.
        """
        while (producer := next(iter(self._forgettable.values()))) is not but:
            if producer.producer_id not in self._open:
                self._forget(producer)
                return
            self._journal.take(self._forgettable, producer.name)

    def _forget(self, producer: TransactionalProducer) -> None:
        self._journal.take(self._producers, producer.name)
        self._journal.take(self._forgettable, producer.name)
        self._journal.take(self._name_of, producer.producer_id)

    def _count_part(self, producer_id: int, change: int) -> None:
        tag = tag_of(producer_id)
        count = self._part_counts.get(tag, 0) + change
        if count:
            self._journal.put(self._part_counts, tag, count)
        else:
            self._journal.take(self._part_counts, tag)


def _first_offset(transaction: OpenTransaction) -> Offset:
    return transaction.first_offset


def _sort(table: OrderedDict[Key, Value], order: Callable[[Value], Offset]) -> None:
    """Sort the entries as they are without an undo, which adds them at the end."""
    in_order = sorted(table.items(), key=lambda entry: order(entry[1]))
    table.clear()
    table.update(in_order)
