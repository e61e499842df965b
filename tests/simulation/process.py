"""One process of a node: the product's engine and request handlers, on a simulated clock, disk and network."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from raft.core.effects import Effect, SendRequest
from raft.core.events import Event
from raft.errors import NodeHaltedError, StorageError
from raft.runtime.admissions import Admissions
from raft.runtime.fault_log import FaultLog
from raft.runtime.requests.context import Context
from raft.runtime.requests.handlers import handle
from raft.runtime.response_budget import ResponseBudget
from raft.runtime.scrubber import Scrubber
from raft.runtime.snapshot_keeper import SnapshotKeeper
from raft.runtime.space_keeper import SpaceKeeper
from raft.storage.aborted_transactions import aborted_in
from raft.types import NodeId, Offset, OffsetAndEpoch
from raft.wire.frames import ReceivedRequest
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.admission_worker import AdmissionWorker
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.disk_workers import SimulatedDiskWorkers
from tests.simulation.event_loop import EventLoop
from tests.simulation.log_model import LogModel
from tests.simulation.plan import DiskPlan
from tests.simulation.relay import SimulatedRelay
from tests.simulation.round_trip import PostedRequest
from tests.simulation.security.guard import Guard
from tests.simulation.snapshot_maker import SimulatedSnapshotMaker
from tests.simulation.starting import CLUSTER_ID, OURS, RESERVE_BYTES, node_config, retention
from tests.simulation.watched import WatchedCore, WatchedDisk, WatchedEngine
from tests.simulation.watched_directory import WatchedDirectory

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.machine import Machine

_logger = logging.getLogger(__name__)

_SCRUB_BYTES_PER_SECOND = 64_000
_SCRUB_INTERVAL_MS = 3_000

_CHECKPOINT_INTERVAL_S = 0.3


class _ToPostOffice:
    """Sends an engine's requests to the post office; see `raft.runtime.network.Network`."""

    def __init__(self, process: Process, environment: Environment) -> None:
        self._process = process
        self._environment = environment

    def send(self, order: SendRequest) -> None:
        """See `Network.send`."""
        self._environment.post_office.send(self._process, order)

    def disconnect(self, node_id: NodeId) -> None:
        """See `Network.disconnect`."""
        self._environment.post_office.disconnect(self._process, node_id)


class Process:
    """Runs one node from its start to its end.

    Args:
        machine: the machine of the process.
        core: the core, not started yet.
        directory: the open directory.
        log: the model of its log.
        clock: the clock of the process.
        dice: the random numbers of the machine.
        disk_plan: the speed of its disk.
        environment: the parts that all machines share.

    Attributes:
        is_over: whether the process has ended.
        context: the context of the request handlers.
    """

    def __init__(
        self,
        machine: Machine,
        core: WatchedCore,
        directory: WatchedDirectory,
        log: LogModel,
        *,
        clock: Clock,
        dice: Dice,
        disk_plan: DiskPlan,
        environment: Environment,
    ) -> None:
        self.machine = machine
        self.core = core
        self.is_over = False
        self._directory = directory
        timeline, plan, watch = environment.timeline, environment.plan, environment.watch
        self._loop = EventLoop(
            timeline,
            clock,
            timer_grain_ms=plan.timeouts.timer_grain_ms,
            rank=machine.node_id,
            plan=plan.clocks,
            dice=dice,
        )
        core.attach(machine, log, environment.committed, self._loop, timeline, watch)
        self.workers = SimulatedDiskWorkers(
            directory,
            machine.written,
            self._loop,
            timeline=timeline,
            dice=dice,
            plan=disk_plan,
            marks=environment.marks,
            power_failed=machine.power_failed,
        )
        disk = WatchedDisk(
            directory, self.workers, checkpoint_interval_s=_CHECKPOINT_INTERVAL_S, piece_bytes=disk_plan.piece_bytes
        )
        self.engine = disk.engine = WatchedEngine(
            core, disk, _ToPostOffice(self, environment), self._loop, ended=self._on_ended
        )
        self.engine.attach(machine, core, watch)
        self.engine.is_fatal, machine.planned_kill = machine.planned_kill, None
        self._space_keeper = SpaceKeeper(core, self.engine.submit, disk, self._loop, RESERVE_BYTES)
        self._scrubber = Scrubber(
            disk, self._loop, bytes_per_second=_SCRUB_BYTES_PER_SECOND, interval_ms=_SCRUB_INTERVAL_MS
        )
        self._keeper = SnapshotKeeper(
            core,
            self.engine.submit,
            disk,
            self._loop,
            retention(plan),
            self._space_keeper,
            SimulatedSnapshotMaker(
                machine.files,
                self._loop,
                timeline,
                dice,
                plan.snapshots,
                is_over=self._is_ended,
                power_failed=machine.power_failed,
            ),
            FaultLog(_logger, self._loop.now_ms),
        )
        config = node_config(machine.node_id, plan)
        self.context = Context(
            config=config,
            cluster_id=CLUSTER_ID,
            ours=OURS,
            engine=self.engine,
            disk=disk,
            scheduler=self._loop,
            admissions=Admissions(AdmissionWorker(self._loop, timeline, dice, disk_plan)),
            responses=ResponseBudget(config.queued_max_request_bytes),
            relay=SimulatedRelay(self, environment),
            refusals=FaultLog(_logger, self._loop.now_ms),
            rules=environment.rules_of(machine.node_id),
            voter_addresses=None,
            draw=dice.draw,
        )
        self._guard = None if environment.access is None else Guard(self, environment, environment.access)

    @property
    def log(self) -> LogModel:
        """The model of the log as the core knows it; it runs ahead of what is written."""
        return self.core.log_model

    @property
    def snapshots(self) -> list[OffsetAndEpoch]:
        """The whole snapshots on the disk, in order."""
        return self._directory.snapshots.whole()

    @property
    def log_start(self) -> Offset:
        """Where the log on the disk begins."""
        return self._directory.log.start_offset

    @property
    def aborted(self) -> list[tuple[int, Offset, Offset]]:
        """Producer id, first offset and offset of the marker of each transaction in the index of aborted ones."""
        log = self._directory.log
        everything = aborted_in(log, log.start_offset, Offset(log.end_offset + 1))
        return [(each.producer_id, each.first_offset, each.last_offset) for each in everything]

    @property
    def found_damage(self) -> tuple[str, ...]:
        """The damage that the scrub has found."""
        return self._scrubber.progress.damage

    @property
    def is_idle(self) -> bool:
        """Whether it would handle an event at once."""
        return self._loop.is_idle and self.engine.is_idle

    def start(self) -> None:
        """Start the engine."""
        self.engine.start()
        self._loop.soon(self._space_keeper.start)
        self._loop.soon(self._keeper.start)
        self._loop.soon(self._scrubber.start)

    def _is_ended(self) -> bool:
        return self.is_over

    # Called by the world

    def submit(self, event: Event) -> None:
        """Submit an event to the engine."""
        if not self.is_over:
            self.engine.submit(event)

    def receive(self, connection: AcceptedConnection, request: ReceivedRequest, posted: PostedRequest) -> None:
        """Pass a request to its handler."""
        if not self.is_over:
            self._loop.arrive(connection.caller, lambda: self._handle(connection, request, posted))

    def soon(self, action: Callable[[], object]) -> None:
        """Run an action on the event loop."""
        if not self.is_over:
            self._loop.soon(action)

    def stall(self, until_ms: int) -> None:
        """Stall the event loop until then."""
        self._loop.stall(until_ms)

    def wake(self) -> None:
        """End a stall early."""
        self._loop.wake()

    def jump_ahead(self, jump_ms: int) -> None:
        """Make its clock jump."""
        self._loop.jump_ahead(jump_ms)

    def plan_kill(self, instead_of: Callable[[Effect], bool] | None) -> None:
        """Kill the process in place of the first effect for which this is true; None cancels that."""
        self.engine.is_fatal = instead_of

    def halt(self) -> None:
        """End the process at once."""
        self.is_over = True
        self._keeper.stop()
        self.workers.end()
        self._loop.end()

    def close(self) -> None:
        """Finish the jobs of the disk, then close the directory, as in a graceful shutdown.

        Raises:
            PowerCutError, StorageError: a planned fault of the disk came first.
        """
        self._keeper.stop()
        self.engine.stop()
        if not self.is_over:
            self._directory.close(self.engine.core.committed_producers())
            self.machine.written.find_durable_end()

    def _handle(self, connection: AcceptedConnection, request: ReceivedRequest, posted: PostedRequest) -> None:
        if self._guard is None:
            handle(self.context, connection.caller, request, posted)
        else:
            self._guard.handle(connection, request, posted)

    def _on_ended(self, error: Exception | None) -> None:
        if error is None:
            self.machine.shut_down()
        elif isinstance(error, NodeHaltedError):
            self.machine.halted(str(error))
        elif isinstance(error, StorageError):
            self.machine.disk_failed(error)
        else:
            self.machine.failed(error)
