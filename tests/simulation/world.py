"""A whole world, made from a plan: machines, network, clients, faults, and those who look on."""

from __future__ import annotations

from raft.types import NodeId
from tests.simulation.chronicle import Chronicle
from tests.simulation.clients.caller import Caller
from tests.simulation.clients.keyed_writer import KeyedWriter
from tests.simulation.clients.latecomer import Latecomer
from tests.simulation.clients.producer import Producer
from tests.simulation.clients.reader import Reader
from tests.simulation.clients.writer import Writer
from tests.simulation.committed_log import CommittedLog
from tests.simulation.dice import Dice
from tests.simulation.faults.catalogue import NEMESES
from tests.simulation.faults.nemesis import Nemesis, Prey
from tests.simulation.fingerprint import Fingerprint
from tests.simulation.invariants.catalogue import all_invariants
from tests.simulation.invariants.watch import Watch
from tests.simulation.machine import Machine
from tests.simulation.network import Address, Network
from tests.simulation.onlooker import Onlooker
from tests.simulation.plan import Plan
from tests.simulation.post_office import PostOffice
from tests.simulation.sightings import Sight, Sightings
from tests.simulation.starting import endpoint_of
from tests.simulation.story import Story
from tests.simulation.surroundings import Surroundings
from tests.simulation.timeline import Timeline
from tests.simulation.wire import Wire


class World:
    """Everything that is, and the one queue of what is to come. It moves when somebody steps its timeline.

    Args:
        plan: what the seed decided.
        remembered_lines: of the story.
    """

    def __init__(self, plan: Plan, *, remembered_lines: int) -> None:
        self.plan = plan
        self.timeline = Timeline()
        self.story = Story(self.timeline, remembered_lines)
        self.sightings = Sightings()
        self.committed = CommittedLog()
        self.fingerprint = Fingerprint(self.timeline)
        self.network = Network(
            plan.network, timeline=self.timeline, dice=Dice(plan.seed, "network"), sightings=self.sightings
        )
        self.post_office = PostOffice(
            self.network, Wire(plan.wire), dice=Dice(plan.seed, "post office"), sightings=self.sightings
        )
        self._watch = Watch()
        self._downtimes = Dice(plan.seed, "downtimes")
        self._kept_down: frozenset[NodeId] = frozenset()
        surroundings = Surroundings(
            plan=plan,
            timeline=self.timeline,
            story=self.story,
            sightings=self.sightings,
            watch=self._watch,
            outbox=self.post_office,
            went_down=self._on_down,
        )
        self.machines = [Machine(node_id, surroundings) for node_id in (*plan.voters, *plan.observers)]
        self.post_office.machines = {endpoint_of(machine.node_id): machine for machine in self.machines}
        self._callers: list[Caller] = []
        self.writers = self._make_writers()
        self.readers = self._make_readers()
        self._nemeses = self._make_nemeses()
        self._watch.add(
            [
                self.fingerprint,
                Chronicle(self.story),
                Onlooker(self.sightings, self.machines, self.committed),
                *all_invariants(plan, self.machines, self.committed),
            ]
        )

    def begin(self) -> None:
        """Start everything, with all its troubles."""
        for machine in self.machines:
            self.timeline.after(self._downtimes.between((0, 100)), machine.start)
        clients: list[Writer | Reader] = [*self.writers, *self.readers]
        for client in clients:
            self.timeline.after(self._downtimes.between((0, 500)), client.begin)
        for nemesis in self._nemeses:
            nemesis.begin()
        leap_at_ms = self.plan.clients.clocks_leap_at_ms
        if leap_at_ms is not None:
            self.timeline.at(leap_at_ms, self._note_leap)

    def calm_down(self) -> None:
        """Let no fault strike any more, and each client make one more write."""
        self.story.tell("world", "calms down")
        for nemesis in self._nemeses:
            nemesis.end()
        self.network.calm_down()
        self.post_office.calm_down()
        for machine in self.machines:
            machine.leave_in_peace()
        for writer in self.writers:
            writer.make_last()

    def let_a_month_pass(self) -> None:
        """Have something written with a timestamp so late that every writer before it is forgotten."""
        self.story.tell("world", "lets a month pass")
        name = "latecomer"
        dice = Dice(self.plan.seed, name)
        late = Latecomer(
            name,
            self._make_caller(dice),
            timeline=self.timeline,
            dice=dice,
            plan=self.plan.clients,
            watch=self._watch,
        )
        self.writers.append(late)
        late.make_last()

    def keep_down(self, node_ids: frozenset[NodeId]) -> None:
        """Let these nodes be down, and all others up, until told otherwise."""
        self._kept_down = node_ids
        for machine in self.machines:
            if machine.node_id not in node_ids:
                machine.start()
            elif machine.process is not None:
                machine.cut_power()

    def _note_leap(self) -> None:
        self.story.tell("world", "has the clocks of its clients leap")
        has_written = any(machine.process and machine.core.writers_image().histories for machine in self.machines)
        self.sightings.count(Sight.CLOCKS_LEAPT, has_written)

    def _on_down(self, machine: Machine) -> None:
        self.post_office.forget_connections(machine.node_id)
        if machine.node_id not in self._kept_down:
            self.timeline.after(self._downtimes.between(self.plan.faults.down_ms), lambda: self._restart(machine))

    def _restart(self, machine: Machine) -> None:
        if machine.node_id not in self._kept_down:
            machine.start()

    def _make_caller(self, dice: Dice) -> Caller:
        caller = Caller(Address(-1 - len(self._callers)), self.machines, self.network, dice)
        self._callers.append(caller)
        return caller

    def _make_writers(self) -> list[Writer]:
        plan = self.plan.clients
        kinds: list[tuple[type[Producer | KeyedWriter], str]] = [
            *((Producer, f"producer {number}") for number in range(plan.producers)),
            *((KeyedWriter, f"query {number}") for number in range(plan.keyed_writers)),
        ]
        writers: list[Writer] = []
        for kind, name in kinds:
            dice = Dice(self.plan.seed, name)
            caller = self._make_caller(dice)
            writers.append(kind(name, caller, timeline=self.timeline, dice=dice, plan=plan, watch=self._watch))
        return writers

    def _make_readers(self) -> list[Reader]:
        readers = []
        for number in range(self.plan.clients.readers):
            name = f"reader {number}"
            dice = Dice(self.plan.seed, name)
            caller = self._make_caller(dice)
            readers.append(Reader(name, caller, timeline=self.timeline, dice=dice, watch=self._watch))
        return readers

    def _make_nemeses(self) -> list[Nemesis]:
        prey = Prey(
            plan=self.plan,
            timeline=self.timeline,
            story=self.story,
            sightings=self.sightings,
            network=self.network,
            post_office=self.post_office,
            machines=self.machines,
            clients=[caller.address for caller in self._callers],
        )
        return [nemesis(prey) for nemesis in NEMESES]
