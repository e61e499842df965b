"""Measures what the engine and the disk of a node do; see `Meter`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from raft.core import RaftCore
from raft.core.effects import AppendBatches, Effect, RoleChanged, SendRequest, SendResponse
from raft.core.events import Event, ResponseReceived
from raft.core.messages import VoteRequest, VoteResponse
from raft.core.roles import Leader
from raft.metrics.commit_clock import CommitClock
from raft.metrics.elections import Elections
from raft.metrics.instruments import Instruments
from raft.metrics.leader_contact import LeaderContact
from raft.metrics.window import Window
from raft.types import Offset

_logger = logging.getLogger(__name__)


class NodeMeter:
    """Measures one node.

    Args:
        instruments: the histograms and counters of the node.
        clock_s: returns the time of a monotonic clock, in seconds.

    Attributes:
        elections: see there.
        contact: with the leader, while this node follows.
        commit_ms: from the append of records to their commit.
        appended_records: as leader.
        fetched_records: as follower or observer.
        is_broken: whether an error of the metrics has ended them.
    """

    def __init__(self, instruments: Instruments, clock_s: Callable[[], float]) -> None:
        self._instruments = instruments
        self._clock_s = clock_s
        self._commits = CommitClock()
        self.is_broken = False
        self.elections = Elections()
        self.contact = LeaderContact()
        self.commit_ms = Window()
        self.appended_records = Window()
        self.fetched_records = Window()

    def now_ms(self) -> int:
        """Return the time of the clock, in milliseconds."""
        return int(self._clock_s() * 1000)

    def handled(self, event: Event, effects: Sequence[Effect], core: RaftCore) -> None:
        """See `Meter.handled`. An error of the metrics does not stop the node; it ends the metrics."""
        if self.is_broken:
            return
        try:
            self._measure(event, effects, core)
        except Exception:
            self.is_broken = True
            _logger.exception("node %s: metrics are not updated any more", core.node_id)

    def _measure(self, event: Event, effects: Sequence[Effect], core: RaftCore) -> None:
        is_change = concerns_votes = False
        for effect in effects:
            if isinstance(effect, AppendBatches):
                self._count_append(effect, core)
            elif isinstance(effect, RoleChanged):
                is_change = True
            elif isinstance(effect, SendRequest):
                concerns_votes = concerns_votes or isinstance(effect.request, VoteRequest)
            elif isinstance(effect, SendResponse):
                concerns_votes = concerns_votes or isinstance(effect.response, VoteResponse)
        response = event.response if isinstance(event, ResponseReceived) else None
        if is_change or concerns_votes or isinstance(response, VoteResponse):
            self.elections.handled(event, effects, self.now_ms())
        if is_change or response is not None:
            self.contact.handled(event, effects, core, self.now_ms())
        if not isinstance(core.role, Leader):
            self._commits.reset()
        elif core.high_watermark is not None:
            self._count_commits(core.high_watermark)

    def _count_append(self, append: AppendBatches, core: RaftCore) -> None:
        headers = [batch.header for batch in append.batches]
        record_count = sum(header.record_count for header in headers)
        size_bytes = sum(header.size_bytes for header in headers)
        instruments = self._instruments
        if isinstance(core.role, Leader):
            now_s = self._clock_s()
            self._commits.appended(headers[-1].end_offset, now_s)
            self.appended_records.record(record_count, int(now_s * 1000))
            instruments.bytes_in.inc(size_bytes)
            instruments.records_in.inc(sum(header.record_count for header in headers if not header.is_control))
        else:
            self.fetched_records.record(record_count, self.now_ms())
            instruments.replicated_in.inc(size_bytes)
            instruments.records_fetched.inc(record_count)

    def _count_commits(self, high_watermark: Offset) -> None:
        if not self._commits.has_below(high_watermark):
            return
        now_s = self._clock_s()
        for elapsed_s in self._commits.committed(high_watermark, now_s):
            self._instruments.commit_s.observe(elapsed_s)
            self.commit_ms.record(elapsed_s * 1000, int(now_s * 1000))

    def timing(self, flush: Callable[[], object]) -> Callable[[], object]:
        """See `Meter.timing`."""
        observe, clock_s = self._instruments.flush_ms.observe, self._clock_s

        def timed() -> object:
            begun_s = clock_s()
            try:
                return flush()
            finally:
                observe((clock_s() - begun_s) * 1000)

        return timed
