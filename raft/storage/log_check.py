"""Reads a whole log and names what is wrong in it, without changing a file: the work of `kraft check`.

Unlike a start it trusts nothing, and goes on after damage, so that it names every damaged file.

Source: rules LOG-13, LOG-19, LOG-25, LOG-26.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from raft.epoch_cache import EpochCache
from raft.errors import CorruptBatchError, DecodeError, StorageError
from raft.storage.append_run import with_epoch_of
from raft.storage.batch_search import BatchSearch
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, read_epochs
from raft.storage.files import Files, join
from raft.storage.index import TimeIndex
from raft.storage.loaded_indexes import LoadedIndexes
from raft.storage.recovery import log_start, segment_bases
from raft.storage.segment import Segment
from raft.storage.snapshots import SnapshotFolder
from raft.transactions import NO_TRANSACTIONS, AbortedFinder
from raft.types import LOG_BEGIN, BatchHeader, Offset


class LogFinding(StrEnum):
    """What a check says of a file.

    SOUND: nothing is wrong.
    MISSING: it follows from the batches; the next start makes it.
    STALE: it follows from the batches and does not agree with them; a start makes it again.
    TORN: its end is the rest of an interrupted write; a start truncates it.
    UNCLEAR: it is damaged above the recovery point, and whole batches follow; a start refuses that.
    LOST: records that were flushed are damaged or missing.
    """

    SOUND = "sound"
    MISSING = "missing"
    STALE = "stale"
    TORN = "torn"
    UNCLEAR = "unclear"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check says of one file.

    Fields:
        name: of the file.
        state: see `LogFinding`.
        detail: its offsets, or what is wrong.
        position: of the damage, for a damaged segment.
        end_offset: everything below is sound, for a damaged segment.
    """

    name: str
    state: LogFinding
    detail: str
    position: int | None = None
    end_offset: Offset | None = None


class LogCheck:
    """The check of the log of one partition, whose node is stopped.

    Args:
        files: where it is.
        directory: the partition's folder.
        recovery_point: everything below it was flushed.
    """

    def __init__(self, files: Files, directory: str, recovery_point: Offset) -> None:
        self._files = files
        self._directory = directory
        self._recovery_point = recovery_point
        self._snapshots = SnapshotFolder(files, directory)
        self._stored_times: frozenset[tuple[int, Offset]] = frozenset()
        self._true_times: set[tuple[int, Offset]] = set()
        """Of the stored entries of the time index, those that the batches confirm."""

    def findings(self) -> Iterator[Finding]:
        """Yield what is said of each file: snapshots, segments with their indexes, and the epochs."""
        yield from self._check_snapshots()
        start = log_start(self._files, self._directory, self._snapshots.whole())
        epochs, transactions = EpochCache(), NO_TRANSACTIONS
        if start != LOG_BEGIN:
            try:
                summary = self._snapshots.summary(start)
                epochs, transactions = EpochCache(summary.epochs), summary.producers.transactions
            except StorageError:
                pass  # The check of the snapshots has named it.
        self._epochs = epochs
        self._aborts = AbortedFinder(transactions)
        self._offset = start.offset
        bases = [base for base in segment_bases(self._files, self._directory) if base >= start.offset]
        is_whole = True
        for place, base_offset in enumerate(bases):
            segment = Segment(self._files, self._directory, base_offset, LoadedIndexes())
            try:
                finding = self._check_segment(segment, bases[place + 1 :])
                yield finding
                is_whole = is_whole and finding.state is LogFinding.SOUND
                if is_whole:
                    yield from self._check_indexes(segment, is_last=base_offset == bases[-1])
            finally:
                segment.close()
        if is_whole and self._offset < self._recovery_point:
            detail = f"the log ends at offset {self._offset}, but everything below {self._recovery_point} was flushed"
            yield Finding(name=self._directory, state=LogFinding.LOST, detail=detail)
        elif is_whole:
            yield self._check_epochs()

    def _check_snapshots(self) -> Iterator[Finding]:
        for snapshot in self._snapshots.whole():
            name = self._snapshots.name_of(snapshot)
            try:
                for _ in self._snapshots.check(snapshot):
                    pass
                yield Finding(name=name, state=LogFinding.SOUND, detail=f"a snapshot up to {snapshot}")
            except StorageError as error:
                yield Finding(name=name, state=LogFinding.LOST, detail=str(error))

    def _check_segment(self, segment: Segment, later: list[Offset]) -> Finding:
        name = join(self._directory, f"{segment.base_offset:020d}.log")
        position = 0
        self._stored_times, self._true_times = self._times_in_file(segment), set()
        try:
            self._check_base(segment)
            for header in segment.headers_from():
                self._check_place(header)
                self._note(segment, header, position)
                position += header.size_bytes
        except CorruptBatchError as damage:
            state, detail = self._judge(segment, position, damage, later)
            finding = Finding(name=name, state=state, detail=detail, position=position, end_offset=self._offset)
            # The check goes on after the damage.
            self._offset = later[0] if later else self._offset
            return finding
        detail = f"offsets {segment.base_offset} to {self._offset}, {segment.size_bytes} bytes"
        return Finding(name=name, state=LogFinding.SOUND, detail=detail)

    def _check_base(self, segment: Segment) -> None:
        if segment.base_offset != self._offset:
            raise CorruptBatchError(f"{segment.path} follows a segment that ends at offset {self._offset}")

    def _check_place(self, header: BatchHeader) -> None:
        last = self._epochs.last
        if header.base_offset != self._offset or (last is not None and header.epoch < last.epoch):
            raise CorruptBatchError(
                f"batch at offset {header.base_offset} of epoch {header.epoch}, expected offset {self._offset}"
                + (f" of epoch {last.epoch} or later" if last is not None else "")
            )

    def _note(self, segment: Segment, header: BatchHeader, position: int) -> None:
        self._offset = header.end_offset
        self._epochs = with_epoch_of(header, self._epochs)
        segment.indexes.note(header, position)
        time = (segment.indexes.largest_timestamp_ms, segment.indexes.offset_of_largest)
        if time in self._stored_times:
            self._true_times.add(time)
        aborted = self._aborts.appended(header)
        if aborted is not None:
            segment.indexes.aborted.note([aborted])

    def _judge(
        self, segment: Segment, position: int, damage: CorruptBatchError, later: list[Offset]
    ) -> tuple[LogFinding, str]:
        detail = f"at byte {position}: {damage}; everything below offset {self._offset} is sound"
        if self._offset < self._recovery_point:
            return LogFinding.LOST, f"{detail}, but everything below {self._recovery_point} was flushed"
        search = BatchSearch(min_offset=self._offset)
        is_behind_gap = segment.base_offset != self._offset and position == 0
        found = segment.find_whole_batch(search, position + (0 if is_behind_gap else 1))
        for base_offset in later:
            if found is None:
                behind = Segment(self._files, self._directory, base_offset, LoadedIndexes())
                try:
                    found = behind.find_whole_batch(search, 0)
                finally:
                    behind.close()
        if found is not None:
            return LogFinding.UNCLEAR, f"{detail}; a whole batch at offset {found.base_offset} follows"
        return LogFinding.TORN, f"{detail}; {segment.size_bytes - position} bytes follow that are no batch"

    def _check_indexes(self, segment: Segment, *, is_last: bool) -> Iterator[Finding]:
        expected = segment.indexes.expected_files(is_last=is_last, more_times=self._true_times)
        for name, contents in expected.items():
            if not self._files.exists(name):
                if None not in contents:
                    yield _missing(name)
            elif self._files.read(name) not in contents:
                yield Finding(name=name, state=LogFinding.STALE, detail="it does not agree with the batches")

    def _times_in_file(self, segment: Segment) -> frozenset[tuple[int, Offset]]:
        """Return the entries of a time index, whether they are right or not; none if the file cannot be read."""
        name = segment.indexes.names[1]
        if not self._files.exists(name):
            return frozenset()
        try:
            return frozenset(TimeIndex.from_bytes(self._files.read(name), segment.base_offset).entries)
        except DecodeError:
            return frozenset()

    def _check_epochs(self) -> Finding:
        name = join(self._directory, EPOCH_CHECKPOINT_NAME)
        if not self._files.exists(name) and self._epochs.entries:
            return _missing(name)
        try:
            stored = read_epochs(self._files, name)
        except StorageError as error:
            return Finding(name=name, state=LogFinding.STALE, detail=str(error))
        if stored != self._epochs.entries:
            return Finding(name=name, state=LogFinding.STALE, detail="it does not have the epochs of the batches")
        return Finding(name=name, state=LogFinding.SOUND, detail=f"{len(stored)} epochs")


def _missing(name: str) -> Finding:
    return Finding(name=name, state=LogFinding.MISSING, detail="the next start makes it from the batches")
