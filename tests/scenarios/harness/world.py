"""The world of a scenario: the simulated world without random events.

Messages, flushes and disk jobs take no time; time passes only in the command `wait`. At the same millisecond the timers
of all nodes run first, in the order of their ids, then disks, then messages in the order in which they were sent. There
are no clients, and a node that is down stays down.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from raft.core.events import Failure
from raft.types import NodeId
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.quiet_plan import QuorumSettings, quiet_plan
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
        transcript: gets what the nodes do.
        settings: the settings of the quorum.

    Attributes:
        machines: the machines, by the ids of their nodes.
        traffic: decides the fates of messages.
        reporter: writes the transcript.
        post_office: the post office of the simulated world.
    """

    def __init__(self, transcript: Transcript, settings: QuorumSettings) -> None:
        self.reporter = Reporter(transcript)
        self._settings = settings
        self._starting: set[NodeId] = set()
        world = World(quiet_plan(settings), max_log_lines=0, observers=[self.reporter], allows_halts=True)
        self._timeline = self.reporter.timeline = world.timeline
        self.machines = {machine.node_id: machine for machine in world.machines}
        for machine in world.machines:
            machine.crash_draw = None
            machine.draw = settings.dice(machine.node_id).draw
        self.traffic = Traffic(self._is_up)
        self.post_office = world.post_office
        self.post_office.posted = self.reporter.posted
        world.network.judge = self.traffic.judge

    @property
    def election_ms(self) -> int:
        """The election timeout of all nodes."""
        return self._settings.election_ms

    @property
    def now_ms(self) -> int:
        """Virtual time, from 0."""
        return self._timeline.now_ms

    def machine(self, node_id: NodeId) -> Machine:
        """Return the machine of a node.

        Raises:
            ScenarioError: there is no such node.
        """
        if node_id not in self.machines:
            raise ScenarioError(f"there is no node {node_id}")
        return self.machines[node_id]

    def process(self, node_id: NodeId) -> Process:
        """Return the process of a node.

        Raises:
            ScenarioError: there is no such node, or it is down.
        """
        process = self.machine(node_id).process
        if process is None:
            raise ScenarioError(f"node {node_id} is down")
        return process

    # Called by commands

    def start(self, machines: Iterable[Machine]) -> None:
        """Start nodes at the same moment.

        Raises:
            ScenarioError: one of them runs.
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

    def deliver(self, held: Held) -> None:
        """Deliver a held message, unless it would be lost now, and run what follows from it."""
        is_passable = self.traffic.is_passable(held.message)
        self.reporter.print_message(held.message, " (delivered)" if is_passable else " (lost)")
        if is_passable:
            self._timeline.after(0, held.deliver)
        self.settle()

    def drop(self, held: Held) -> None:
        """Lose a held message."""
        self.reporter.print_message(held.message, " (lost)")

    def fail(self, held: Held, failure: Failure) -> None:
        """Fail a held request at its sender."""
        self.reporter.print_message(held.message, f" (failed: {failure.value})")
        if held.message.round_trip is not None:
            self.post_office.fail(held.message.round_trip, failure)
        self.settle()

    def wait(self, until_ms: int, is_reached: Callable[[], bool]) -> None:
        """Let time pass until then, or until a condition holds, from one action to the next."""
        while not is_reached():
            next_ms = self._timeline.next_ms
            self._run(until_ms if next_ms is None else min(next_ms, until_ms))
            if self.now_ms == until_ms:
                return

    def settle(self) -> None:
        """Run all actions of the present moment."""
        self._run(self.now_ms)

    def _run(self, until_ms: int) -> None:
        try:
            self._timeline.run(until_ms)
        except BrokenInvariantError as error:
            raise ScenarioError(str(error)) from error
        self.reporter.print_high_watermarks()

    def _is_up(self, node_id: int) -> bool:
        machine = self.machines.get(NodeId(node_id))
        return machine is not None and (machine.process is not None or machine.node_id in self._starting)
