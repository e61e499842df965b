"""The simulated world, made from a plan: machines, network, clients, faults and observers."""

from __future__ import annotations

from collections.abc import Sequence

from raft.client.settings import ClientSettings, ReadFrom
from raft.types import CleanupPolicy, NodeId
from tests.simulation.accepted import AcceptedConnections
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.end_reader import EndReader
from tests.simulation.clients.gap_readers import GapReader, GapStreamReader
from tests.simulation.clients.keyed_writer import KeyedWriter
from tests.simulation.clients.late_writer import LateWriter
from tests.simulation.clients.multipart_writer import MultipartWriter
from tests.simulation.clients.our_client import OurClient
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.stream_reader import StreamReader
from tests.simulation.clients.transactional_producer import TransactionalProducer
from tests.simulation.clients.writer import Writer, WriterWorld
from tests.simulation.committed_log import CommittedLog
from tests.simulation.damage_marks import DamageMarkObserver
from tests.simulation.dice import Dice
from tests.simulation.environment import Environment
from tests.simulation.faults.catalogue import NEMESES
from tests.simulation.faults.nemesis import Nemesis, Targets
from tests.simulation.fingerprint import Fingerprint
from tests.simulation.invariants.catalogue import all_invariants
from tests.simulation.invariants.observer import Observer
from tests.simulation.invariants.watch import Watch
from tests.simulation.machine import Machine
from tests.simulation.mark_observer import MarkObserver
from tests.simulation.marks import Mark, Marks
from tests.simulation.message import Address
from tests.simulation.network import Network
from tests.simulation.plan import Plan
from tests.simulation.post_office import PostOffice
from tests.simulation.run_log import RunLog
from tests.simulation.run_logger import RunLogger
from tests.simulation.security import users
from tests.simulation.security.access import AccessControl
from tests.simulation.security.identity import Identity
from tests.simulation.security_marks import SecurityMarkObserver
from tests.simulation.snapshot_marks import SnapshotMarkObserver
from tests.simulation.space_marks import SpaceMarkObserver
from tests.simulation.starting import endpoint_of
from tests.simulation.timeline import Timeline
from tests.simulation.transaction_marks import TransactionMarkObserver
from tests.simulation.versions import Versions

_EXECUTORS = 2
"""Tasks of a multipart writer at the same time."""


class World:
    """All parts of a run. The caller runs its timeline.

    Args:
        plan: the plan of the run.
        max_log_lines: how many lines of the log of the run are kept.
        observers: the observers; None for all invariants, fingerprint, log and marks.
        allows_halts: whether a node may halt; if not, a halt is a broken invariant.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        max_log_lines: int,
        observers: Sequence[Observer] | None = None,
        allows_halts: bool = False,
    ) -> None:
        self.plan = plan
        self.timeline = Timeline()
        self.run_log = RunLog(self.timeline, max_log_lines)
        self.marks = Marks()
        self.committed = CommittedLog()
        self.fingerprint = Fingerprint(self.timeline)
        self.network = Network(plan.network, timeline=self.timeline, dice=Dice(plan.seed, "network"), marks=self.marks)
        self.versions = Versions(plan.wire.old_nodes)
        self.access = AccessControl(plan, self.timeline) if plan.security.is_secured else None
        self.post_office = PostOffice(
            self.network,
            self.versions,
            AcceptedConnections(self.access, plan),
            dice=Dice(plan.seed, "post office"),
            marks=self.marks,
        )
        self._watch = Watch()
        self._downtimes = Dice(plan.seed, "downtimes")
        self._kept_down: frozenset[NodeId] = frozenset()
        environment = Environment(
            plan=plan,
            timeline=self.timeline,
            run_log=self.run_log,
            marks=self.marks,
            watch=self._watch,
            committed=self.committed,
            post_office=self.post_office,
            went_down=self._on_down,
            allows_halts=allows_halts,
            access=self.access,
        )
        self.machines = [Machine(node_id, environment) for node_id in (*plan.voters, *plan.observers)]
        self.post_office.machines = {endpoint_of(machine.node_id): machine for machine in self.machines}
        self._addresses: list[Address] = []
        self.writers = self._make_writers()
        self.readers = self._make_readers()
        self.targets = self._make_targets()
        self._nemeses = self._make_nemeses()
        self._watch.add(self._all_observers() if observers is None else observers)

    def begin(self) -> None:
        """Start machines, clients and faults."""
        for machine in self.machines:
            start_ms = self._downtimes.between((0, 100))
            self.timeline.at(self.plan.late_starts_ms.get(machine.node_id, start_ms), machine.start)
        clients: list[Writer | Reader | StreamReader | EndReader] = [*self.writers, *self.readers]
        for client in clients:
            self.timeline.after(self._downtimes.between((0, 500)), client.begin)
        for nemesis in self._nemeses:
            nemesis.begin()
        jump_at_ms = self.plan.clients.clocks_jump_at_ms
        if jump_at_ms is not None:
            self.timeline.at(jump_at_ms, self._log_clock_jump)

    def end_faults(self) -> None:
        """End the fault phase: no fault strikes any more, and each writer makes one last write."""
        self.run_log.add("world", "ends the fault phase")
        for nemesis in self._nemeses:
            nemesis.end()
        self.network.end_faults()
        self.post_office.end_faults()
        if self.access is not None:
            self.access.end_faults()
        for machine in self.machines:
            machine.end_faults()
        for writer in self.writers:
            writer.make_last()

    def expire_writers(self) -> None:
        """Write a record with a timestamp so late that all earlier writers expire."""
        self.run_log.add("world", "expires all writers")
        name = "latecomer"
        late = LateWriter(name, self._client(users.QUERY), self._writer_world(name))
        self.writers.append(late)
        late.make_last()

    def append_once(self, name: str) -> Writer:
        """Let a client make one write; return the client."""
        writer = KeyedWriter(name, self._client(users.QUERY), self._writer_world(name))
        self.writers.append(writer)
        writer.make_last()
        return writer

    def _all_observers(self) -> list[Observer]:
        return [
            self.fingerprint,
            RunLogger(self.run_log),
            MarkObserver(self.marks, self.machines, self.committed),
            TransactionMarkObserver(self.marks),
            SnapshotMarkObserver(self.marks, self.committed),
            SpaceMarkObserver(self.marks),
            DamageMarkObserver(self.marks),
            SecurityMarkObserver(self.marks),
            *all_invariants(self.plan, self.machines, self.committed),
        ]

    def keep_down(self, node_ids: frozenset[NodeId]) -> None:
        """Stop these nodes and start all others, until the next call."""
        self._kept_down = node_ids
        for machine in self.machines:
            if machine.node_id not in node_ids:
                machine.start()
            elif machine.process is not None:
                machine.cut_power()

    def _log_clock_jump(self) -> None:
        self.run_log.add("world", "makes the clocks of its clients jump")
        has_written = any(
            machine.process and machine.core.producers_image().writers.histories for machine in self.machines
        )
        self.marks.count(Mark.CLIENT_CLOCKS_JUMPED, has_written)

    def _on_down(self, machine: Machine) -> None:
        self.post_office.forget_connections(machine.node_id)
        down_ms = self.plan.faults.down_ms
        if down_ms is not None and machine.node_id not in self._kept_down:
            self.timeline.after(self._downtimes.between(down_ms), lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if machine.node_id not in self._kept_down:
            machine.start()

    def _make_writers(self) -> list[Writer]:
        plan = self.plan.clients
        writers: list[Writer] = []
        for number in range(plan.producers):
            name = f"producer {number}"
            writers.append(Producer(name, self._caller(name, users.PRODUCER), self._writer_world(name)))
        for number in range(plan.keyed_writers):
            name = f"query {number}"
            writers.append(KeyedWriter(name, self._client(users.QUERY), self._writer_world(name)))
        for number in range(plan.multipart_writers):
            name = f"sink {number}"
            executors = [self._client(users.SINK) for _ in range(_EXECUTORS)]
            writers.append(MultipartWriter(name, self._client(users.SINK), executors, self._writer_world(name)))
        for number in range(plan.transactional_producers):
            name = f"transactions {number}"
            caller = self._caller(name, users.TRANSACTIONS)
            writers.append(TransactionalProducer(name, caller, self._writer_world(name)))
        return writers

    def _make_readers(self) -> list[Reader | StreamReader | EndReader]:
        plan = self.plan.clients
        readers: list[Reader | StreamReader | EndReader] = []
        has_gaps = self.plan.snapshots.policy is not CleanupPolicy.NONE
        reader, stream_reader = (GapReader, GapStreamReader) if has_gaps else (Reader, StreamReader)
        for number in range(plan.readers):
            name = f"reader {number}"
            readers.append(
                reader(
                    name,
                    self._caller(name, users.READER),
                    timeline=self.timeline,
                    dice=self._dice(name),
                    watch=self._watch,
                )
            )
        for number in range(plan.stream_readers):
            name = f"stream {number}"
            read_from = self._dice(f"nodes of {name}").pick((ReadFrom.LEADER, ReadFrom.ANY))
            readers.append(
                stream_reader(
                    name,
                    self._client(users.STREAM, read_from=read_from),
                    timeline=self.timeline,
                    dice=self._dice(name),
                    watch=self._watch,
                )
            )
        for number in range(plan.end_readers):
            name = f"end {number}"
            readers.append(
                EndReader(name, self._client_asking, timeline=self.timeline, dice=self._dice(name), watch=self._watch)
            )
        return readers

    def _writer_world(self, name: str) -> WriterWorld:
        return WriterWorld(timeline=self.timeline, dice=self._dice(name), plan=self.plan.clients, watch=self._watch)

    def _dice(self, name: str) -> Dice:
        return Dice(self.plan.seed, name)

    def _caller(self, name: str, user: str) -> Caller:
        node_ids, dice = [machine.node_id for machine in self.machines], self._dice(f"way of {name}")
        return Caller(self._new_address(), node_ids, self.post_office, dice, self._identity(user))

    def _client_asking(self, number: int) -> OurClient:
        """Return a client that asks the node with this number first."""
        first = number % len(self.machines)
        return self._client(users.END, [*self.machines[first:], *self.machines[:first]])

    def _client(
        self, user: str, bootstrap: Sequence[Machine] = (), *, read_from: ReadFrom = ReadFrom.LEADER
    ) -> OurClient:
        plan = self.plan.clients
        settings = ClientSettings(
            bootstrap_servers=tuple(endpoint_of(machine.node_id) for machine in bootstrap or self.machines),
            api_timeout_ms=plan.api_timeout_ms,
            request_timeout_ms=2 * plan.patience_ms,
            patience_ms=plan.patience_ms,
            retry_backoff_ms=plan.retry_ms,
            read_from=read_from,
        )
        return OurClient(
            self._new_address(),
            settings,
            post_office=self.post_office,
            timeline=self.timeline,
            watch=self._watch,
            identity=self._identity(user),
        )

    def _identity(self, user: str) -> Identity | None:
        """Return a user; None in a plan without security."""
        return None if self.access is None else self.access.user(user)

    def _new_address(self) -> Address:
        self._addresses.append(-1 - len(self._addresses))
        return self._addresses[-1]

    def _make_nemeses(self) -> list[Nemesis]:
        return [nemesis(self.targets) for nemesis in NEMESES]

    def _make_targets(self) -> Targets:
        return Targets(
            plan=self.plan,
            timeline=self.timeline,
            run_log=self.run_log,
            marks=self.marks,
            network=self.network,
            post_office=self.post_office,
            machines=self.machines,
            clients=self._addresses,
            access=self.access,
        )
