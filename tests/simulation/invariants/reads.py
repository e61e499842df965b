"""Invariants of reads: a client reads all that is committed, in order, and nothing else."""

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
    """Nodes send only committed records to clients."""

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
                self.require(
                    is_same, "%s responds to %s with records that differ from the committed ones", machine, request
                )
                position += len(entry.payload)
            self.require(position == len(records), "%s responds to %s with uncommitted records", machine, request)


class ReadOffsetsStayValid(Invariant):
    """No node rejects an offset that a client has read, as long as the client sends the highest epoch that it knows."""

    rules = ("CLIENT-1", "CLIENT-3")

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if isinstance(request, ClientFetchRequest):
            response = order.response
            assert isinstance(response, FetchResponse), "the response to a fetch"
            self.require(
                response.error != ErrorCode.OFFSET_OUT_OF_RANGE,
                "%s responds to %s with OFFSET_OUT_OF_RANGE",
                machine,
                request,
            )
            self.require(response.diverging is None, "%s responds to %s with a diverging epoch", machine, request)


class ReadersFollowCommittedLog(Invariant):
    """What a client has read, from any nodes, is a prefix of the committed log, and only grows."""

    rules = ("CLIENT-2", "FETCH-29")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: dict[str, Offset] = {}

    def records_read(self, reader: str, log: LogModel) -> None:
        before = self._ends.get(reader, Offset(0))
        self.require(log.end_offset > before, "%s had read up to %s, now up to %s", reader, before, log.end_offset)
        self._ends[reader] = log.end_offset
        is_prefix = log.chain == self._committed.model.chain_at(log.end_offset)
        self.require(
            is_prefix, "%s has read records below %s that differ from the committed ones", reader, log.end_offset
        )
