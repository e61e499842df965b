"""Invariants of what clients are told, behind the request handlers, the wire and the session."""

from __future__ import annotations

from raft.client.results import BatchPlan, FoundOffset, LogPlace
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, error_name
from raft.records.header import CHECKED_FROM
from raft.types import Batch, Epoch, Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from raft.writers.keys import version_of
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.log_model import write_id_of

_CHECKSUM = slice(CHECKED_FROM - 4, CHECKED_FROM)
"""Where the checksum of a batch stands: before the bytes that it covers."""


class ClientsAreToldTheTruth(Invariant):
    """An acknowledged write is committed, with these very records, where the client is told; a refused one is refused
    for what is committed.
    """

    rules = ("HW-6", "CLIENT-6", "CLIENT-8", "CLIENT-11")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def write_settled(self, client: str, batch: Batch, response: AppendResponse) -> None:
        header = batch.header
        write_id = write_id_of(header)
        assert write_id is not None, "every client here names its writes"
        if response.error == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            version = version_of(header.producer_epoch, header.base_sequence)
            newest = self._committed.newest_version(header.producer_id or 0)
            is_overtaken = newest is not None and newest > version
            self.require(is_overtaken, "%s is told that version %s is overtaken by %s", client, version, newest)
            return
        entry = self._committed.find(write_id)
        if entry is None:
            self.fail(f"{client} is told {error_name(response.error)} of {write_id}, which is not committed")
        is_same = entry.payload[CHECKED_FROM:] == batch.payload[CHECKED_FROM:]
        if response.error == ErrorCode.NONE:
            self.require(is_same, "%s is told that %s is committed, other records are there", client, write_id)
            base_offset = entry.header.base_offset
            is_there = response.base_offset == base_offset
            self.require(is_there, "%s is told %s of %s at %s", client, response.base_offset, write_id, base_offset)
        else:
            self.require(not is_same, "%s is refused %s, whose own records are there", client, write_id)


class SessionsKeepTheirEpoch(Invariant):
    """The highest leader epoch that a session knows never falls."""

    rules = ("CLIENT-16",)

    def __init__(self) -> None:
        self._epochs: dict[str, Epoch] = {}

    def session_stepped(self, client: str, epoch: Epoch) -> None:
        before = self._epochs.get(client, epoch)
        self.require(epoch >= before, "client %s knew epoch %s, and now epoch %s", client, before, epoch)
        self._epochs[client] = epoch


class PlansAreTrue(Invariant):
    """A planned batch is committed, begins where it was asked to, and its places are those of the committed log."""

    rules = ("CLIENT-15", "CLIENT-2")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def batch_planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        high_watermark, before = plan.high_watermark, self._ends.get(reader, Offset(0))
        self.require(
            before <= high_watermark <= self._committed.end_offset,
            "%s is told that %s is committed, after %s; committed is %s",
            reader,
            high_watermark,
            before,
            self._committed.end_offset,
        )
        self._ends[reader] = high_watermark
        if plan.start is None or plan.end is None:
            self.fail(f"{reader} asks for a batch from {start_offset}, and gets {plan}")
        is_within = plan.start.offset == start_offset <= plan.end.offset <= high_watermark
        self.require(is_within, "%s asks for a batch from %s, and gets %s", reader, start_offset, plan)
        epoch_end = plan.epoch_end
        is_committed = epoch_end is None or epoch_end.offset <= high_watermark
        self.require(is_committed, "%s is told that an epoch ends at %s, above %s", reader, epoch_end, high_watermark)
        if epoch_end is not None and epoch_end.epoch == plan.start.epoch:
            is_behind = epoch_end.offset >= start_offset
            self.require(is_behind, "%s has read up to %s, and is told %s", reader, start_offset, epoch_end)
        for place in (plan.start, plan.end):
            self._check_place(reader, place)

    def _check_place(self, reader: str, place: LogPlace) -> None:
        if place.offset:
            entry = self._committed.model.entry_holding(Offset(place.offset - 1))
            assert entry is not None, "below the high watermark"
            epoch, checksum = entry.header.epoch, int.from_bytes(entry.payload[_CHECKSUM], "big")
            is_so = (place.epoch, place.checksum) == (epoch, checksum)
            self.require(is_so, "%s is told %s, where %s is committed", reader, place, entry.header)


class FoundOffsetsAreTrue(Invariant):
    """The end that a client is told is committed, and never falls; a time is that of the first record not before it."""

    rules = ("CLIENT-4", "CLIENT-5")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def offset_found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        if timestamp == LATEST_TIMESTAMP:
            self._check_end(reader, found)
        elif found is not None:
            self._check_time(reader, timestamp, found.offset)

    def _check_end(self, reader: str, found: FoundOffset | None) -> None:
        if found is None:
            self.fail(f"{reader} is told of no end")
        end_offset, before, committed = found.offset, self._ends.get(reader, Offset(0)), self._committed.end_offset
        is_so = before <= end_offset <= committed
        self.require(
            is_so, "%s is told of the end %s, after %s; committed is %s", reader, end_offset, before, committed
        )
        self._ends[reader] = end_offset

    def _check_time(self, reader: str, timestamp: int, offset: Offset) -> None:
        self.require(offset < self._committed.end_offset, "%s is told of %s, not committed", reader, offset)
        for entry in self._committed.model.entries:
            header = entry.header
            if header.max_timestamp_ms >= timestamp:
                is_first = header.base_offset <= offset <= header.last_offset
                self.require(is_first, "%s is told %s for time %s of %s", reader, offset, timestamp, header)
                return
        self.fail(f"{reader} is told {offset} for time {timestamp}, which no committed record has reached")
