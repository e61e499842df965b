"""Invariants of the results that clients receive through request handlers, wire and session."""

from __future__ import annotations

from raft.client.results import BatchPlan, FoundOffset, LogPosition
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, error_name
from raft.records.header_fields import CHECKED_FROM
from raft.types import Batch, Epoch, Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.writers.keys import version_of
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.log_model import is_same_write, write_id_of

_CHECKSUM = slice(CHECKED_FROM - 4, CHECKED_FROM)
"""The position of a batch's checksum: before the bytes that it covers."""


class WriteOutcomesAreCorrect(Invariant):
    """An acknowledged write is committed with the same records at the acknowledged offset. A write is refused only
    because of a committed one.
    """

    rules = ("HW-6", "CLIENT-6", "CLIENT-8", "CLIENT-11")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        header = batch.header
        write_id = write_id_of(header)
        assert write_id is not None, "every simulated write has an id"
        if response.error == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            version = version_of(header.producer_epoch, header.base_sequence)
            newest = self._committed.newest_version(header.producer_id or 0)
            is_superseded = newest is not None and newest > version
            self.require(
                is_superseded,
                "%s: version %s was refused as superseded, the newest committed is %s",
                client,
                version,
                newest,
            )
            return
        entry = self._committed.find(write_id)
        if entry is None:
            self.fail(f"{client} received {error_name(response.error)} for {write_id}, which is not committed")
        is_same = is_same_write(entry, batch)
        if response.error == ErrorCode.NONE:
            self.require(
                is_same, "%s: %s was acknowledged, but other records are committed under its id", client, write_id
            )
            base_offset = entry.header.base_offset
            is_right = response.base_offset == base_offset
            self.require(
                is_right,
                "%s received offset %s for %s, which is at %s",
                client,
                response.base_offset,
                write_id,
                base_offset,
            )
        else:
            self.require(not is_same, "%s: %s was refused, but its own records are committed", client, write_id)


class SessionEpochNeverFalls(Invariant):
    """The highest leader epoch that a session knows never falls."""

    rules = ("CLIENT-16",)

    def __init__(self) -> None:
        self._epochs: dict[str, Epoch] = {}

    def session_stepped(self, client: str, epoch: Epoch) -> None:
        before = self._epochs.get(client, epoch)
        self.require(epoch >= before, "client %s: the highest epoch fell from %s to %s", client, before, epoch)
        self._epochs[client] = epoch


class BatchPlansAreCorrect(Invariant):
    """A planned batch is committed and starts at the requested offset, and its places match the committed log."""

    rules = ("CLIENT-15", "CLIENT-2")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def batch_planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        stable, before = plan.last_stable_offset, self._ends.get(reader, Offset(0))
        self.require(
            before <= stable <= self._committed.end_offset,
            "%s received the last stable offset %s, after %s; committed is %s",
            reader,
            stable,
            before,
            self._committed.end_offset,
        )
        self._ends[reader] = stable
        if plan.start is None and plan.log_start_offset > start_offset:
            return
        if plan.start is None or plan.end is None:
            self.fail(f"{reader} requested a batch from {start_offset}, and received {plan}")
        is_within = plan.start.offset == start_offset <= plan.end.offset <= stable
        self.require(is_within, "%s requested a batch from %s, and received %s", reader, start_offset, plan)
        epoch_end = plan.epoch_end
        committed = self._committed.end_offset
        is_committed = epoch_end is None or epoch_end.offset <= committed
        self.require(is_committed, "%s received the epoch end %s, committed is %s", reader, epoch_end, committed)
        if epoch_end is not None and epoch_end.epoch == plan.start.epoch:
            is_reached = epoch_end.offset >= start_offset
            self.require(
                is_reached, "%s has read up to %s, and received the epoch end %s", reader, start_offset, epoch_end
            )
        for place in (plan.start, plan.end):
            self._check_place(reader, place)

    def _check_place(self, reader: str, place: LogPosition) -> None:
        if place.offset:
            entry = self._committed.model.entry_holding(Offset(place.offset - 1))
            assert entry is not None, "below the high watermark"
            epoch, checksum = entry.header.epoch, int.from_bytes(entry.payload[_CHECKSUM], "big")
            # A snapshot has the epochs, and not every batch.
            is_same = place.epoch == epoch and place.checksum in (None, checksum)
            self.require(is_same, "%s received %s, committed is %s", reader, place, entry.header)


class LatestIsLinearizable(Invariant):
    """The latest offset that a client receives is at least the last stable offset at the time of the question."""

    rules = ("READ-1", "READ-2")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._stable: dict[str, Offset] = {}

    def offset_requested(self, reader: str, timestamp: int) -> None:
        if timestamp == LATEST_TIMESTAMP:
            self._stable[reader] = self._committed.history.last_stable_offset(self._committed.end_offset)

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        if timestamp == LATEST_TIMESTAMP and found is not None:
            stable = self._stable[reader]
            is_new = found.offset >= stable
            detail = "%s received the latest offset %s, but records up to %s were stable when it asked"
            self.require(is_new, detail, reader, found.offset, stable)


class FoundOffsetsAreCorrect(Invariant):
    """The latest offset that a client receives is committed and never falls. The offset of a timestamp is that of the
    first record with this timestamp or a later one.
    """

    rules = ("CLIENT-4", "CLIENT-5")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        if timestamp == LATEST_TIMESTAMP:
            self._check_end(reader, found)
        elif found is not None:
            self._check_timestamp(reader, timestamp, found.offset)

    def _check_end(self, reader: str, found: FoundOffset | None) -> None:
        if found is None:
            self.fail(f"{reader} received no latest offset")
        end_offset, before, committed = found.offset, self._ends.get(reader, Offset(0)), self._committed.end_offset
        is_valid = before <= end_offset <= committed
        self.require(
            is_valid,
            "%s received the latest offset %s, after %s; committed is %s",
            reader,
            end_offset,
            before,
            committed,
        )
        self._ends[reader] = end_offset

    def _check_timestamp(self, reader: str, timestamp: int, offset: Offset) -> None:
        self.require(
            offset < self._committed.end_offset, "%s received offset %s, which is not committed", reader, offset
        )
        for entry in self._committed.model.entries:
            header = entry.header
            if header.max_timestamp_ms >= timestamp:
                is_first = header.base_offset <= offset <= header.last_offset
                self.require(
                    is_first,
                    "%s received offset %s for timestamp %s, the first is in %s",
                    reader,
                    offset,
                    timestamp,
                    header,
                )
                return
        self.fail(f"{reader} received offset {offset} for timestamp {timestamp}, which is above all committed ones")
