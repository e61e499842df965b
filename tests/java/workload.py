"""What is written to a mixed quorum: Kafka's nodes write by themselves while they lead, and to ours a client writes."""

from __future__ import annotations

import itertools
import time

from raft.client import Client, ClientSettings
from raft.errors import QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import NodeId, Offset
from tests.java.mixed_quorum import Kind, MixedQuorum
from tests.node.harness.waiting import eventually

_PATIENCE_S = 30
_VAIN_MS = 300


class Workload:
    """Writes, whoever leads, and keeps in mind what must be there in the end and what must not.

    Attributes:
        acknowledged: what our nodes said is committed, by offset.
        written_in_vain: what our nodes took, but could not commit.
    """

    def __init__(self, quorum: MixedQuorum) -> None:
        self._quorum = quorum
        self._values = (b"record %06d" % at for at in itertools.count())
        self.acknowledged: dict[Offset, bytes] = {}
        self.written_in_vain: list[bytes] = []

    def go_on(self, leader_id: NodeId, duration_s: float) -> None:
        """Let some time go by, in which records are written and committed.

        Raises:
            AssertionError, QuorumUnavailableError: none is committed.
        """
        if self._quorum.kinds[leader_id] is Kind.JAVA:
            before = self._high_watermark()
            time.sleep(duration_s)
            grows = f"what node {leader_id} or its successor writes is committed, past {before}"
            eventually(lambda: self._high_watermark() > before, grows, within_s=_PATIENCE_S)
            return
        end_s = time.monotonic() + duration_s
        with self._client(leader_id) as client:
            while True:
                value = next(self._values)
                self.acknowledged[_append(client, value)] = value
                if time.monotonic() >= end_s:
                    return

    def go_on_in_vain(self, leader_id: NodeId) -> None:
        """Write to a leader that is cut off, and does not know it yet; Kafka's nodes do so by themselves."""
        if self._quorum.kinds[leader_id] is Kind.JAVA:
            return
        value = next(self._values)
        with self._client(leader_id, timeout_ms=_VAIN_MS) as client:
            try:
                _append(client, value)
            except QuorumUnavailableError:
                self.written_in_vain.append(value)
            else:
                raise AssertionError(f"node {leader_id} commits, although it is cut off")

    def _client(self, leader_id: NodeId, timeout_ms: int = _PATIENCE_S * 1000) -> Client:
        servers = (self._quorum.seats[leader_id].advertised,)
        return Client(ClientSettings(bootstrap_servers=servers, api_timeout_ms=timeout_ms))

    def _high_watermark(self) -> Offset:
        """The highest that any node tells of; of Kafka's nodes only leaders do."""
        standings = [self._quorum.standing(node_id) for node_id in self._quorum.voters_that_are_well]
        return max((standing.high_watermark or Offset(0) for standing in standings if standing), default=Offset(0))


def _append(client: Client, value: bytes) -> Offset:
    """Append a record, in a batch of its own: Java bears no batch whose records have different times."""
    record = Record(value=value, timestamp_ms=int(time.time() * 1000))
    return client.append(build_batch([record])).base_offset
