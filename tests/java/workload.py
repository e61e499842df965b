"""Appends to a mixed quorum: Kafka's nodes append by themselves while they lead, and a client appends to ours."""

from __future__ import annotations

import itertools
import time

from raft.client import Client, ClientSettings
from raft.config.security import NO_SECURITY, ClientSecurity
from raft.errors import QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import NodeId, Offset
from tests.hang import HANG_S
from tests.java.mixed_quorum import Kind, MixedQuorum
from tests.node.harness.waiting import eventually

_UNCOMMITTED_MS = 300


class Workload:
    """Appends to the leader, and keeps which records must be in the log at the end and which must not.

    Args:
        quorum: its nodes, which run.
        security: of the connections to our nodes.

    Attributes:
        acknowledged: the values that our nodes acknowledged, by offset.
        uncommitted: values that our nodes appended and could not commit.
    """

    def __init__(self, quorum: MixedQuorum, security: ClientSecurity = NO_SECURITY) -> None:
        self._quorum = quorum
        self._security = security
        self._values = (b"record %06d" % at for at in itertools.count())
        self.acknowledged: dict[Offset, bytes] = {}
        self.uncommitted: list[bytes] = []

    def run(self, leader_id: NodeId, duration_s: float) -> None:
        """Wait for some time, in which records are appended and committed.

        Args:
            leader_id: the leader; if it is one of Kafka's, it appends by itself.
            duration_s: the least time.

        Raises:
            AssertionError, QuorumUnavailableError: no record is committed.
        """
        if self._quorum.kinds[leader_id] is Kind.JAVA:
            before = self._high_watermark()
            time.sleep(duration_s)
            what = f"records of node {leader_id} or its successor are committed past {before}"
            eventually(lambda: self._high_watermark() > before, what, within_s=HANG_S)
            return
        end_s = time.monotonic() + duration_s
        with self._client(leader_id) as client:
            while True:
                value = next(self._values)
                self.acknowledged[_append(client, value)] = value
                if time.monotonic() >= end_s:
                    return

    def append_uncommitted(self, leader_id: NodeId) -> None:
        """Append to a leader that is partitioned and has not resigned yet; Kafka's nodes append by themselves."""
        if self._quorum.kinds[leader_id] is Kind.JAVA:
            return
        value = next(self._values)
        with self._client(leader_id, timeout_ms=_UNCOMMITTED_MS) as client:
            try:
                _append(client, value)
            except QuorumUnavailableError:
                self.uncommitted.append(value)
            else:
                raise AssertionError(f"node {leader_id} commits, although it is partitioned")

    def _client(self, leader_id: NodeId, timeout_ms: int = 30_000) -> Client:
        servers = (self._quorum.nodes[leader_id].client_endpoint,)
        return Client(ClientSettings(bootstrap_servers=servers, api_timeout_ms=timeout_ms, security=self._security))

    def _high_watermark(self) -> Offset:
        """Return the highest that a voter reports; of Kafka's nodes only leaders do."""
        views = [self._quorum.view(node_id) for node_id in self._quorum.working_voters]
        return max((view.high_watermark or Offset(0) for view in views if view), default=Offset(0))


def _append(client: Client, value: bytes) -> Offset:
    """Append a record in a batch of its own: Kafka's nodes reject a batch whose records have different timestamps."""
    record = Record(value=value, timestamp_ms=int(time.time() * 1000))
    return client.append(build_batch([record])).base_offset
