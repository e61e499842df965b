"""A quorum of one voter without a network, whose disk and clock run when the test says so."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from itertools import count

from raft.compaction import SnapshotOrder, make_snapshot
from raft.compaction.compactor import Compactor
from raft.core import CoreConfig, RaftCore
from raft.core.effects import SendRequest, SendResponse
from raft.core.events import AppendRequested
from raft.core.log_view import LogView
from raft.core.messages import AppendResponse
from raft.core.voter_set import VoterSet
from raft.errors import StorageError
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.runtime.disk import Disk
from raft.runtime.engine import Engine
from raft.runtime.scheduler import Action
from raft.storage.directory import ReplicaDirectory
from raft.storage.log_config import LogConfig
from raft.storage.opened_directory import ReplicaIdentity
from raft.transactions import ProducerState
from raft.types import Batch, Endpoint, NodeId, ReplicaKey, Uuid
from tests.memory_files.files import MemoryFiles
from tests.runtime.inline_workers import InlineWorkers

US = NodeId(1)
IDENTITY = ReplicaIdentity(topic="log", topic_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ"), node_id=US, voters=(US,))
FOLDER = "log-0"


class ManualScheduler:
    """A clock that moves when the test says so; the wall clock shows the same time."""

    def __init__(self) -> None:
        self._now_ms = 0
        self._order = count()
        self._planned: list[tuple[int, int, Action]] = []

    def now_ms(self) -> int:
        """See `Scheduler.now_ms`."""
        return self._now_ms

    def wall_clock_ms(self) -> int:
        """See `Scheduler.wall_clock_ms`."""
        return self._now_ms

    def soon(self, action: Action) -> None:
        """See `Scheduler.soon`."""
        self.at(self._now_ms, action)

    def post(self, action: Action) -> None:
        """See `Scheduler.post`."""
        self.soon(action)

    def at(self, due_ms: int, action: Action) -> Planned:
        """See `Scheduler.at`."""
        planned = Planned(action)
        heapq.heappush(self._planned, (max(due_ms, self._now_ms), next(self._order), planned.run))
        return planned

    def run(self, *, until_ms: int, between: Callable[[], None]) -> None:
        """Run all actions that are due by then, and `between` after each."""
        between()
        while self._planned and self._planned[0][0] <= until_ms:
            self._now_ms, _, action = heapq.heappop(self._planned)
            action()
            between()
        self._now_ms = until_ms


class Planned:
    """An action that is planned."""

    def __init__(self, action: Action) -> None:
        self._action: Action | None = action

    def run(self) -> None:
        """Run it, unless it was cancelled."""
        if self._action is not None:
            self._action()

    def cancel(self) -> None:
        """See `Timer.cancel`."""
        self._action = None


class NoNetwork:
    """The network of a single voter."""

    def send(self, request: SendRequest) -> None:
        """See `Network.send`."""
        raise AssertionError(f"a single voter sends {request}")

    def disconnect(self, node_id: NodeId) -> None:
        """See `Network.disconnect`."""
        raise AssertionError(f"a single voter has no connection to node {node_id}")


class SnapshotsAtOnce:
    """Makes snapshots when they are ordered, or fails.

    Attributes:
        orders: what was ordered.
        problem: why the next ones fail; None if they do not.
    """

    def __init__(self, files: MemoryFiles) -> None:
        self._files = files
        self.orders: list[SnapshotOrder] = []
        self.problem: str | None = None

    def make(self, order: SnapshotOrder, done: Callable[[str | None], None]) -> None:
        """See `SnapshotMaker.make`."""
        self.orders.append(order)
        problem = self.problem
        if problem is None:
            try:
                for _ in make_snapshot(self._files, FOLDER, order, Compactor(now_ms=0, delete_retention_ms=0)):
                    pass
            except StorageError as error:
                problem = str(error)
        done(problem)


class OneVoter:
    """A leader without other voters.

    Args:
        serves_snapshot: see `LogConfig`.

    Attributes:
        files: its disk.
        core, disk, engine, scheduler, directory: the parts of the node.
        errors: why the node has stopped.
    """

    def __init__(self, *, serves_snapshot: bool = False) -> None:
        self.files = MemoryFiles()
        producers = ProducerState()
        config = LogConfig(serves_snapshot=serves_snapshot)
        self.directory = ReplicaDirectory.open(
            self.files, IDENTITY, entropy=bytes(16), config=config, producers=producers
        )
        self.core = RaftCore(
            CoreConfig(
                replica=ReplicaKey(US, self.directory.directory_id),
                cluster_id=self.directory.cluster_id,
                voters=VoterSet.static({US: Endpoint("localhost", 9000)}),
            ),
            stored=None,
            log=LogView(),
            producers=producers,
            draw=lambda _: 0,
        )
        self.scheduler = ManualScheduler()
        self._workers = InlineWorkers()
        self.disk = Disk(self.directory, self._workers)
        self.errors: list[Exception | None] = []
        self.engine = Engine(self.core, self.disk, NoNetwork(), self.scheduler, ended=self.errors.append)
        self.engine.start()
        self.wait(0)

    def wait(self, duration_ms: int) -> None:
        """Let time pass, and do everything that comes up."""
        self.scheduler.run(until_ms=self.scheduler.now_ms() + duration_ms, between=self._workers.run)
        assert not self.errors, "the node runs"

    def append(self, *keys: str, value: bytes = b"value") -> int:
        """Append a record for each key in a batch; return the error code of the response."""
        now_ms = self.scheduler.now_ms()
        payload = build_batch([Record(key=key.encode(), value=value, timestamp_ms=now_ms) for key in keys])
        responses: list[SendResponse] = []
        request_id = self.engine.expect_response(responses.append)
        batch = Batch(header=read_header(payload), payload=payload)
        self.engine.submit(AppendRequested(request_id=request_id, batch=batch, timeout_ms=1_000))
        self.wait(0)
        (sent,) = responses
        assert isinstance(sent.response, AppendResponse)
        return sent.response.error
