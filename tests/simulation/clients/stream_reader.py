"""A client of this project that reads the log batch by batch, like the source of a streaming query."""

from __future__ import annotations

from raft.client import AbortedFilter, calls
from raft.client.results import BatchPlan, Fetched, FoundOffset
from raft.errors import OffsetOutOfRangeError, RaftError
from raft.records.batches import read_batches
from raft.types import Epoch, Offset
from raft.wire.messages.list_offsets import LATEST_TIMESTAMP
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clients.our_client import OurClient
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.log_model import LogModel
from tests.simulation.timeline import Timeline
from tests.simulation.watched import WALL_CLOCK_MS

_PAUSE_MS = (0, 150)
_MAX_WAIT_MS = (0, 400)
_MAX_BYTES = (1, 2000)
_MAX_RECORDS = 6


class StreamReader:
    """Requests a plan of each batch from the leader, then fetches the batch. Between batches it may request an offset.

    Args:
        name: the name of the reader.
        client: its client.
        timeline: virtual time.
        dice: the random numbers of the reader.
        watch: receives plans, offsets and records.

    Attributes:
        log: all that it has read.
    """

    def __init__(self, name: str, client: OurClient, *, timeline: Timeline, dice: Dice, watch: Observer) -> None:
        self.log = LogModel()
        self.name = name
        self._client = client
        self._timeline = timeline
        self._dice = dice
        self._watch = watch
        self._position = Offset(0)
        self._planned_end = Offset(0)
        self._max_records: int | None = None

    @property
    def end_offset(self) -> Offset:
        """One past the last record that it has read."""
        return self._position

    def begin(self) -> None:
        """Request a plan or an offset, and again when that is done."""
        match self._dice.draw(8):
            case 0:
                self._find(LATEST_TIMESTAMP)
            case 1:
                self._find(WALL_CLOCK_MS + self._dice.draw(self._timeline.now_ms + 1))
            case _:
                self._plan()

    def _find(self, timestamp: int) -> None:
        def on_found(found: FoundOffset | None) -> None:
            self._watch.offset_found(self.name, timestamp, found)
            self._pause()

        self._watch.offset_requested(self.name, timestamp)
        self._client.call(on_found, self._on_error, calls.find_offset, timestamp)

    def _plan(self) -> None:
        self._max_records = 1 + self._dice.draw(_MAX_RECORDS) if self._dice.draw(2) else None
        self._client.call(
            self._on_plan,
            self._on_error,
            calls.plan_batch,
            start_offset=self._position,
            epoch=self._last_epoch(),
            max_records=self._max_records,
        )

    def _last_epoch(self) -> Epoch:
        """Return the epoch of the record before the position; 0 if there is none."""
        last = self.log.entry_holding(Offset(self._position - 1)) if self._position else None
        return Epoch(0) if last is None else last.header.epoch

    def _on_plan(self, plan: BatchPlan) -> None:
        self._watch.batch_planned(self.name, self._position, plan)
        if plan.end is None or plan.end.offset <= self._position:
            self._pause()
            return
        self._planned_end = plan.end.offset
        if self._max_records is not None:
            self._watch.rows_planned(
                self.name, self._position, self._planned_end, plan.last_stable_offset, self._max_records
            )
        self._fetch()

    def _fetch(self) -> None:
        self._client.call(
            self._on_fetched,
            self._on_error,
            calls.fetch_committed,
            self._position,
            max_bytes=self._dice.between(_MAX_BYTES),
            max_wait_ms=self._dice.between(_MAX_WAIT_MS),
        )

    def _on_fetched(self, fetched: Fetched) -> None:
        batches, aborted = list(read_batches(fetched.records)), AbortedFilter(fetched.aborted)
        seen = [batch for batch in batches if not aborted.drops(batch.header) and not batch.header.is_control]
        new = [batch for batch in batches if batch.header.base_offset >= self.log.end_offset]
        for batch in new:
            self.log.append(batch)
        if new:
            self._watch.records_read(self.name, self.log)
        start, self._position = self._position, max(self._position, min(self.log.end_offset, self._planned_end))
        if batches:
            end = min(batches[-1].header.end_offset, self._planned_end)
            self._watch.records_seen(self.name, start, max(start, end), seen)
        if self._position < self._planned_end:
            self._fetch()
        else:
            self._pause()

    def _on_error(self, error: RaftError) -> None:
        if isinstance(error, OffsetOutOfRangeError):
            detail = f"{self.name} has read up to {self._position}, and received: {error}"
            raise BrokenInvariantError("ReadOffsetsStayValid", ("CLIENT-1", "CLIENT-3"), detail)
        self._pause()

    def _pause(self) -> None:
        self._timeline.after(self._dice.between(_PAUSE_MS), self.begin)
