"""The world of a scenario: that of the simulator, where nothing happens by chance.

Messages, flushes and jobs of disks take no time; time passes only when a command says so. Of what falls on the same
millisecond, the timers of all nodes go first, in the order of their ids, then disks, then messages in the order in
which they were sent. No client is there, and a node that is down stays down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from raft.core.events import Failure
from raft.types import NodeId
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.quiet_plan import Setting, quiet_plan
from tests.scenarios.harness.reporter import Reporter
from tests.scenarios.harness.traffic import Held, Traffic
from tests.scenarios.harness.transcript import Transcript
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.machine import Machine
from tests.simulation.process import Process
from tests.simulation.world import World


class ScenarioWorld:
    """All nodes of one quorum.

    Args:
        transcript: where is told what happens.
        setting: of the quorum.

    Attributes:
        machines: the nodes, by their ids.
        traffic: what commands do to messages.
        reporter: writes the transcript.
        post_office: of the simulator.
    """

    def __init__(self, transcript: Transcript, setting: Setting) -> None:
        self.reporter = Reporter(transcript)
        self._setting = setting
        self._starting: set[NodeId] = set()
        world = World(quiet_plan(setting), max_log_lines=0, observers=[self.reporter], allows_halts=True)
        self._timeline = self.reporter.timeline = world.timeline
        self.machines = {machine.node_id: machine for machine in world.machines}
        for machine in world.machines:
            machine.crash_draw = None
            machine.draw = setting.dice(machine.node_id).draw
        self.traffic = Traffic(self._is_up)
        self.post_office = world.post_office
        self.post_office.posted = self.reporter.posted
        world.network.judge = self.traffic.judge

    @property
    def election_ms(self) -> int:
        """The election timeout of all nodes."""
        return self._setting.election_ms

    @property
    def now_ms(self) -> int:
        """The clock, from 0."""
        return self._timeline.now_ms

    def machine(self, node_id: NodeId) -> Machine:
        """The node of that id.

        Raises:
            ScenarioError: there is none.
        """
        if node_id not in self.machines:
            raise ScenarioError(f"there is no node {node_id}")
        return self.machines[node_id]

    def process(self, node_id: NodeId) -> Process:
        """The node of that id, which runs.

        Raises:
            ScenarioError: there is none, or it is down.
        """
        process = self.machine(node_id).process
        if process is None:
            raise ScenarioError(f"node {node_id} is down")
        return process

    # What commands do to it

    def start(self, machines: Iterable[Machine]) -> None:
        """Start nodes, all at the same moment.

        Raises:
            ScenarioError: one is up.
        """
        starting = list(machines)
        for machine in starting:
            if machine.process is not None:
                raise ScenarioError(f"node {machine.node_id} is up already")
        self._starting = {machine.node_id for machine in starting}
        for machine in starting:
            machine.start()
        self._starting.clear()
        self.settle()

    def hand_on(self, held: Held) -> None:
        """Let a message that was held go on its way, if there still is one, with all that follows from it."""
        is_passable = self.traffic.is_passable(held.message)
        self.reporter.tell_message(held.message, " (delivered)" if is_passable else " (lost)")
        if is_passable:
            self._timeline.after(0, held.deliver)
        self.settle()

    def drop(self, held: Held) -> None:
        """Lose a message that was held."""
        self.reporter.tell_message(held.message, " (lost)")

    def fail(self, held: Held, failure: Failure) -> None:
        """Let a request that was held fail: its sender hears that there will be no response."""
        self.reporter.tell_message(held.message, f" (failed: {failure.value})")
        if held.message.round_trip is not None:
            self.post_office.fail(held.message.round_trip, failure)
        self.settle()

    def wait(self, until_ms: int, is_reached: Callable[[], bool]) -> None:
        """Let time pass until then, or until something is reached, moment by moment."""
        while not is_reached():
            next_ms = self._timeline.next_ms
            self._run(until_ms if next_ms is None else min(next_ms, until_ms))
            if self.now_ms == until_ms:
                return

    def settle(self) -> None:
        """Do everything that happens without time passing."""
        self._run(self.now_ms)

    def _run(self, until_ms: int) -> None:
        try:
            self._timeline.run(until_ms)
        except BrokenInvariantError as error:
            raise ScenarioError(str(error)) from error
        self.reporter.tell_high_watermarks()

    def _is_up(self, node_id: int) -> bool:
        machine = self.machines.get(NodeId(node_id))
        return machine is not None and (machine.process is not None or machine.node_id in self._starting)
