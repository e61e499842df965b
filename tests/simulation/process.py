"""One process of a node: the product's engine and request handlers, on a simulated clock, disk and network."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable
from math import ceil
from typing import TYPE_CHECKING

from raft.codec import Message
from raft.core.effects import Effect, SendRequest
from raft.core.events import Event
from raft.errors import NodeHaltedError, StorageError
from raft.runtime.client_quotas import ClientQuotas
from raft.runtime.replica import Replica
from raft.runtime.requests.handle import handle
from raft.runtime.scheduler import Timer
from raft.runtime.turns import ROUND_S, Standing, Turns
from raft.storage.aborted_transactions import aborted_in
from raft.types import NodeId, Offset, OffsetAndEpoch
from raft.wire.frames import ReceivedRequest
from raft.wire.headers import RequestHeader
from tests.simulation.accepted import AcceptedConnection
from tests.simulation.admission_worker import AdmissionWorker
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.disk_workers import SimulatedDiskWorkers
from tests.simulation.event_loop import EventLoop
from tests.simulation.inbound import Inbound, Received, Turn, Wait
from tests.simulation.log_model import LogModel
from tests.simulation.plan import DiskPlan
from tests.simulation.relay import SimulatedRelay
from tests.simulation.round_trip import PostedRequest
from tests.simulation.security.guard import Guard
from tests.simulation.snapshot_maker import SimulatedSnapshotMaker
from tests.simulation.starting import CLUSTER_ID, OURS, node_config, quotas_of
from tests.simulation.waiting_connections import WaitingConnections
from tests.simulation.watched import WatchedCore, WatchedDisk, WatchedEngine
from tests.simulation.watched_directory import WatchedDirectory

if TYPE_CHECKING:
    from tests.simulation.environment import Environment
    from tests.simulation.machine import Machine

_CHECKPOINT_INTERVAL_S = 0.3

_ROUND_US = ROUND_S * 1_000_000
_TWO_ROUNDS_US = 12_800
"""The longest time of two rounds, with the last request of each turn."""

_KEPT_CONNECTIONS = 200
"""So many connections are kept before those without requests are dropped."""


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
        marks: the coverage marks.
        turns: the order in which its connections are served.
        quotas: of its clients; None without quotas.
        waiting: its connections with requests that have not begun.
        clients_ms: the processor time that it has used for clients, in milliseconds.
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
        self.marks = environment.marks
        self.waiting = WaitingConnections()
        self._watch = watch
        self.clients_ms = 0.0
        self._work_for_voters: deque[tuple[int, int]] = deque()
        self._inbound: dict[AcceptedConnection, Inbound] = {}
        self._request_us = plan.clocks.request_us
        self._costs = Dice(plan.seed, f"costs at {machine} {machine.incarnation}")
        self._loop.idle = self._on_loop_idle
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
        disk = self._disk = WatchedDisk(
            directory, self.workers, checkpoint_interval_s=_CHECKPOINT_INTERVAL_S, piece_bytes=disk_plan.piece_bytes
        )
        self.engine = disk.engine = WatchedEngine(
            core, disk, _ToPostOffice(self, environment), self._loop, ended=self._on_ended
        )
        self.engine.attach(machine, core, watch)
        self.engine.is_fatal, machine.planned_kill = machine.planned_kill, None
        self.turns = Turns(
            now_s=self._now_s,
            used_s=lambda: self._loop.processor.used_us / 1_000_000,
            call_soon=self._loop.soon,
            call_later=self.call_later,
            hold=self.engine.hold,
            settle=self.engine.settle,
        )
        limits = quotas_of(plan)
        self.quotas = None if limits is None else ClientQuotas(lambda: limits, self._now_s)
        self._replica = Replica(
            node_config(machine.node_id, plan),
            self.engine,
            disk,
            self._loop,
            cluster_id=CLUSTER_ID,
            ours=OURS,
            worker=AdmissionWorker(self._loop, timeline, dice, disk_plan),
            maker=SimulatedSnapshotMaker(
                machine.files,
                self._loop,
                timeline,
                dice,
                plan.snapshots,
                is_over=self._is_ended,
                power_failed=machine.power_failed,
            ),
            relay=SimulatedRelay(self, environment),
            rules=environment.rules_of(machine.node_id),
            authentications=Counter(),
            voter_addresses=None,
            draw=dice.draw,
        )
        self.context = self._replica.context
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
        return self._replica.scrubber.progress.damage

    @property
    def has_waited_for_room(self) -> bool:
        """Whether a job of its disk has waited for room, so that reads may have found less than was ordered."""
        return self._disk.waits_for_room or self._disk.has_waited_for_room

    @property
    def is_idle(self) -> bool:
        """Whether it would handle an event at once."""
        return self._loop.is_idle and self.engine.is_idle

    @property
    def now_ms(self) -> int:
        """The time of its clock."""
        return self._loop.now_ms()

    def _now_s(self) -> float:
        return self._loop.now_ms() / 1_000

    def start(self) -> None:
        """Start the engine."""
        self._replica.start()

    def _is_ended(self) -> bool:
        return self.is_over

    # Called by the world

    def submit(self, event: Event) -> None:
        """Submit an event to the engine."""
        if not self.is_over:
            self.engine.submit(event)

    def receive(self, connection: AcceptedConnection, request: ReceivedRequest, posted: PostedRequest) -> None:
        """Pass a request of a client to its handler, in the turn of its connection."""
        self.inbound(connection).deliver([Received(lambda: self.handle(connection, request, posted))])

    def inbound(
        self, connection: AcceptedConnection, may_begin: Callable[[Received], bool] = lambda _: True
    ) -> Inbound:
        """Return what was received on a connection; see `Inbound`."""
        if connection not in self._inbound:
            if len(self._inbound) >= _KEPT_CONNECTIONS:
                self._inbound = {each: inbound for each, inbound in self._inbound.items() if inbound.is_needed}
            self._inbound[connection] = Inbound(connection, self, may_begin)
        return self._inbound[connection]

    def arrive(self, connection: Hashable, action: Callable[[], None]) -> None:
        """Run what handles data of a connection; see `EventLoop.arrive`."""
        if not self.is_over:
            self._loop.arrive(connection, action)

    def handle(self, connection: AcceptedConnection, request: ReceivedRequest, posted: PostedRequest) -> None:
        """Pass a request to its handler, within the event loop."""
        if self.quotas is not None:
            self.inbound(connection).throttle.begin(request.header)
        if self._guard is None:
            handle(self.context, posted)
        else:
            self._guard.handle(connection, request, posted)

    def throttled(
        self, connection: AcceptedConnection, header: RequestHeader, response: Message, frame: bytes
    ) -> Message | None:
        """See `Inbound.respond`."""
        return None if self.quotas is None else self.inbound(connection).respond(header, response, frame)

    @property
    def work_ms(self) -> float:
        """The processor time that it has used, in milliseconds."""
        return self._loop.processor.used_us / 1_000

    @property
    def work_ms_at_arrival(self) -> float:
        """The same without what has not passed yet: a request that arrives now waits for that."""
        return self._loop.processor.passed_us / 1_000

    @property
    def has_time_for_voters(self) -> bool:
        """Whether a voter's request begins as soon as it is read (SHARE-2)."""
        recent, used_us = self._work_for_voters, self._loop.processor.used_us
        while recent and recent[0][0] < used_us - _TWO_ROUNDS_US:
            recent.popleft()
        return not self.waiting.voters and sum(cost_us for _, cost_us in recent) < _ROUND_US

    def spend_for_request(self, standing: Standing) -> int:
        """Use the processor for one request; return for how many microseconds."""
        cost_us = self._costs.between(self._request_us)
        self._loop.use(cost_us)
        if standing is Standing.VOTER:
            self._work_for_voters.append((self._loop.processor.used_us, cost_us))
        else:
            self.clients_ms += cost_us / 1_000
        return cost_us

    def report_wait(self, wait: Wait) -> None:
        """Report how long a request has waited for the turn of its connection."""
        self._watch.request_waited(self.machine, wait)

    def report_begin(self, inbound: Inbound) -> None:
        """Report that a request begins."""
        if self.quotas is not None:
            self._watch.request_begun(self.machine, inbound)

    def report_turn(self, turn: Turn) -> None:
        """Report a turn of a connection."""
        if self.quotas is not None:
            self._watch.turn_ended(self.machine, turn)

    def report_throttle(self, inbound: Inbound, throttle_ms: int) -> None:
        """Report that a response throttles a client, which says so."""
        self._watch.client_throttled(self.machine, inbound, throttle_ms)

    def _on_loop_idle(self) -> None:
        if self.waiting or self.engine.held:
            self._watch.turns_ended(self.machine, self.waiting.with_work)

    def call_later(self, after_s: float, action: Callable[[], object]) -> Timer:
        """Run an action on the event loop after some seconds."""
        return self._loop.at(self._loop.now_ms() + ceil(after_s * 1_000), action)

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
        self._replica.stop()
        self.workers.end()
        self._loop.end()

    def close(self) -> None:
        """Finish the jobs of the disk, then close the directory, as in a graceful shutdown.

        Raises:
            PowerCutError, StorageError: a planned fault of the disk came first.
        """
        self._replica.stop()
        self.engine.stop()
        if not self.is_over:
            self._directory.close(self.engine.core.committed_producers())
            self.machine.written.find_durable_end()

    def _on_ended(self, error: Exception | None) -> None:
        if error is None:
            self.machine.shut_down()
        elif isinstance(error, NodeHaltedError):
            self.machine.halted(str(error))
        elif isinstance(error, StorageError):
            self.machine.disk_failed(error)
        else:
            self.machine.failed(error)
