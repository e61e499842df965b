"""Invariants of reads: a client sees what is committed, all of it, in order, and is never sent back."""

from __future__ import annotations

from raft.core.effects import SendResponse
from raft.core.messages import ClientFetchRequest, FetchResponse
from raft.errors import ErrorCode
from raft.types import Offset
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.log_model import LogModel
from tests.simulation.machine import Machine


class ReadsAreCommitted(Invariant):
    """No node gives a client anything that is not committed."""

    rules = ("CLIENT-2", "TEST-8")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if isinstance(request, ClientFetchRequest) and records:
            position = 0
            for entry in self._committed.model.after(request.fetch_offset):
                if position >= len(records):
                    break
                is_same = records.startswith(entry.payload, position)
                self.require(is_same, "%s gives other records than are committed to %s", machine, request)
                position += len(entry.payload)
            self.require(position == len(records), "%s gives more than is committed to %s", machine, request)


class ReadersAreNotSentBack(Invariant):
    """Nobody tells a client that what it has read was never there, as long as it says which epoch it has seen."""

    rules = ("CLIENT-1", "CLIENT-3")

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if isinstance(request, ClientFetchRequest):
            response = order.response
            assert isinstance(response, FetchResponse), "the answer to a fetch"
            self.require(response.error != ErrorCode.OFFSET_OUT_OF_RANGE, "%s knows no %s", machine, request)
            self.require(response.diverging is None, "%s tells a client to cut: %s", machine, request)


class ReadersGoForward(Invariant):
    """What a client has read, from whichever nodes, is a beginning of the committed log, and grows."""

    rules = ("CLIENT-2", "FETCH-29")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def records_read(self, reader: str, log: LogModel) -> None:
        before = self._ends.get(reader, Offset(0))
        self.require(log.end_offset > before, "%s was at %s, now at %s", reader, before, log.end_offset)
        self._ends[reader] = log.end_offset
        is_beginning = log.chain == self._committed.model.chain_at(log.end_offset)
        self.require(is_beginning, "%s has read other records below %s than are committed", reader, log.end_offset)
