"""Fake quorums for planning: a log and its leader's epoch, with responses as a node sends them (CLIENT-5), and the
responses of a controller of Apache Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from raft.client import BatchPlan, Client, ClientSettings, LogPosition
from raft.client.driver import Arguments, Call
from raft.client.results import FoundOffset
from raft.client.steps import Result
from raft.core.log_view import LogView
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from tests.client.kafka import LEADER, Controller, a_table
from tests.client.table import PLACES

CLUSTER_ID = "J8qFJ5vSQ_WmUo0zCbbnZg"
RECORD_BYTES = 100
NOWHERE = ClientSettings(bootstrap_servers=(Endpoint("nowhere", 1),), cluster_id=CLUSTER_ID)


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A committed log: the epoch of each record, and their times.

    Fields:
        epochs: epoch of each record, from offset 0 on; never falling.
        leader_epoch: of the leader; None takes the last record's, as of a leader whose first record is
            committed.
        timestamps_ms: time of each record; without, no record has the requested time or a later one.
        start: first offset still there.
        is_compacted: whether the records of a snapshot stand before the start of the log.
        checksums: of the batch of each record; without, the leader plans no batches, like controllers of Kafka.
        control: offsets of control records.
        counts_bytes: whether the leader can limit a batch by bytes; each record then has `RECORD_BYTES`.
    """

    epochs: Sequence[int]
    leader_epoch: int | None = None
    timestamps_ms: Sequence[int] = ()
    start: int = 0
    is_compacted: bool = False
    checksums: Sequence[int] = ()
    control: frozenset[int] = frozenset()
    counts_bytes: bool = True
    view: LogView = field(default_factory=LogView)

    def __post_init__(self) -> None:
        self.view.delete_before(
            OffsetAndEpoch(offset=Offset(self.start), epoch=Epoch(0)), shows_snapshot=self.is_compacted
        )
        for offset, epoch in enumerate(self.epochs):
            self.view.start_epoch(Epoch(epoch), Offset(offset))
        self.view.end_offset = Offset(len(self.epochs))


class LogClient(Client):
    """A client whose leader is a `Log` in memory; it counts the requests for epochs, and the plans."""

    def __init__(self, log: Log, *, cluster_id: str = CLUSTER_ID) -> None:
        epoch = log.view.last_epoch if log.leader_epoch is None else Epoch(log.leader_epoch)
        super().__init__(NOWHERE, epoch=epoch)
        self._log = log
        self._cluster_id = cluster_id
        self.questions = 0
        self.plans = 0

    @property
    def cluster_id(self) -> str:
        return self._cluster_id

    def find_offset(self, timestamp: int) -> FoundOffset | None:
        if timestamp == EARLIEST_TIMESTAMP:
            return FoundOffset(offset=self._log.view.readable_from, epoch=None)
        if timestamp == LATEST_TIMESTAMP:
            return FoundOffset(offset=self._log.view.end_offset, epoch=self.epoch)
        young = (at for at, record_ms in enumerate(self._log.timestamps_ms) if record_ms >= timestamp)
        offset = next(young, None)
        return None if offset is None else FoundOffset(offset=Offset(offset), epoch=Epoch(self._log.epochs[offset]))

    def end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch | None:
        self.questions += 1
        view = self._log.view
        return view.end_of_epoch(epoch) if 0 <= epoch <= view.last_epoch else None

    def plan_batch(
        self,
        start_offset: Offset,
        epoch: Epoch,
        *,
        max_records: int | None = None,
        max_bytes: int | None = None,
        end_offset: Offset | None = None,
    ) -> BatchPlan:
        self.plans += 1
        plan = BatchPlan(
            log_start_offset=self._log.view.readable_from,
            last_stable_offset=self.last_stable_offset(),
            epoch_end=self.end_of_epoch(epoch),
        )
        if not self._log.checksums or not plan.log_start_offset <= start_offset <= plan.last_stable_offset:
            return plan
        end = (
            plan.last_stable_offset
            if end_offset is None
            else max(start_offset, min(plan.last_stable_offset, end_offset))
        )
        if max_records is not None:
            data = [offset for offset in range(start_offset, end) if offset not in self._log.control]
            end = Offset(data[max_records]) if len(data) > max_records else end
        size_bytes = None
        if max_bytes is not None and self._log.counts_bytes:
            end = min(end, Offset(start_offset + max(max_bytes // RECORD_BYTES, 1)))
            size_bytes = (end - start_offset) * RECORD_BYTES
        return replace(plan, start=self._place(start_offset), end=self._place(end), size_bytes=size_bytes)

    def _place(self, offset: Offset) -> LogPosition:
        epoch = Epoch(self._log.epochs[offset - 1] if offset else 0)
        checksum = self._log.checksums[offset - 1] if offset > self._log.start else None
        return LogPosition(offset=offset, epoch=epoch, checksum=checksum)


class ControllerClient(Client):
    """A client of an Apache Kafka cluster: the calls are real, their responses come from a table.

    Fields:
        calls_left: how many more calls it may make; planning that does not end fails the test.
    """

    def __init__(self, controller: Controller) -> None:
        super().__init__(ClientSettings(bootstrap_servers=(PLACES[LEADER],)))
        self._table = a_table(controller)
        self.calls_left = 100

    def call(
        self,
        begin: Call[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        self.calls_left -= 1
        assert self.calls_left, "planning goes on and on"
        return self._table.run(begin(self._session, self._table.deadline(), *args, **kwargs))
