"""Prints what the nodes of a scenario do."""

from __future__ import annotations

from raft.core.effects import (
    AppendBatches,
    AppendLeaderChange,
    Disconnect,
    Effect,
    FlushLog,
    Halt,
    ReportFault,
    RoleChanged,
    ShutdownFinished,
    StoreElectionState,
    TruncateLog,
)
from raft.core.roles import Leader
from raft.types import Epoch, NodeId
from tests.scenarios.harness import words
from tests.scenarios.harness.kinds import Kind, kind_of
from tests.scenarios.harness.transcript import Detail, Transcript
from tests.simulation.invariants.observer import Observer
from tests.simulation.machine import Machine
from tests.simulation.message import Message
from tests.simulation.network import Fate
from tests.simulation.step import Step
from tests.simulation.timeline import Timeline

_TEXT_OF_FATE = {Fate.CARRIED: "", Fate.HELD: " (held)", Fate.LOST: " (lost)"}


class Reporter(Observer):
    """Writes the transcript.

    Args:
        transcript: gets the lines.

    Attributes:
        leaders: the nodes that became leader, by epoch.
        timeline: virtual time; set when the world is made.
        by_hand: the requests of the command `ask`, of which only the responses are printed.
    """

    timeline: Timeline

    def __init__(self, transcript: Transcript) -> None:
        self.leaders: dict[Epoch, list[NodeId]] = {}
        self.by_hand: list[object] = []
        self._transcript = transcript
        self._has_role: set[NodeId] = set()
        self._moved: list[Machine] = []

    def node_started(self, machine: Machine) -> None:
        self._has_role.discard(machine.node_id)

    def event_handled(self, step: Step) -> None:
        self.print_high_watermarks()

    def high_watermark_moved(self, step: Step) -> None:
        # It is printed once the effects of the step are carried out.
        self._moved.append(step.machine)

    def print_high_watermarks(self) -> None:
        """Print the high watermarks that have moved."""
        for machine in self._moved:
            if machine.process is not None:
                high_watermark = machine.core.high_watermark
                known = "unknown" if high_watermark is None else high_watermark
                self._print(Detail.EVERYTHING, f"{machine.node_id}: high watermark {known}")
        self._moved.clear()

    def effect_begun(self, machine: Machine, effect: Effect) -> None:
        node_id = machine.node_id
        match effect:
            case StoreElectionState(state=state):
                self._print(Detail.ELECTIONS, f"{node_id} stores {words.of_election_state(state)}")
            case AppendBatches(batches=batches):
                text = f"appends {batches[0].header.base_offset}..{batches[-1].header.end_offset}"
                self._print(Detail.EVERYTHING, f"{node_id} {text}")
            case AppendLeaderChange(base_offset=base_offset, granting_voters=granting):
                text = f"appends LeaderChange at {base_offset}, granted by {words.of_ids(granting)}"
                self._print(Detail.EVERYTHING, f"{node_id} {text}")
            case TruncateLog(end_offset=end_offset):
                self._print(Detail.ELECTIONS, f"{node_id} truncates its log to {end_offset}")
            case FlushLog(end_offset=end_offset):
                waits = machine.holds_flushes
                text = f"{'waits for a flush' if waits else 'flushes'} up to {end_offset}"
                self._print(Detail.ELECTIONS if waits else Detail.EVERYTHING, f"{node_id} {text}")
            case Disconnect(node_id=peer):
                self._print(Detail.EVERYTHING, f"{node_id} disconnects from {peer}")
            case RoleChanged() | ReportFault() | ShutdownFinished() | Halt():
                self._print(Detail.ROLES, f"{node_id}{self._node_event(node_id, effect)}")
            case _:
                pass  # requests and responses are printed when the post office sends them

    def posted(self, message: Message, fate: Fate) -> None:
        """Print a message between nodes when the post office sends it."""
        if any(message.request is request for request in self.by_hand):
            if message.is_response:
                self.print_message(message, "", Detail.ROLES)
        else:
            self.print_message(message, _TEXT_OF_FATE[fate])

    def print_message(self, message: Message, fate: str, detail: Detail | None = None) -> None:
        """Print a message and its fate.

        Args:
            message: the message, between nodes.
            fate: the text of the fate, with a space before it.
            detail: the level of detail; None for that of its kind.
        """
        assert message.request is not None, "a message between nodes"
        if detail is None:
            detail = Detail.EVERYTHING if kind_of(message.request) is Kind.FETCH else Detail.ELECTIONS
        self._print(detail, f"{message.sender} -> {message.receiver}: {words.of_message(message)}{fate}")

    def _node_event(self, node_id: NodeId, effect: RoleChanged | ReportFault | ShutdownFinished | Halt) -> str:
        """Return the text of an event at a node, without the node's id."""
        match effect:
            case RoleChanged(old=old, new=new, reason=reason):
                if isinstance(new, Leader):
                    self.leaders.setdefault(new.epoch, []).append(node_id)
                before = f"{words.of_role(old)} ->" if node_id in self._has_role else "starts as"
                self._has_role.add(node_id)
                return f": {before} {words.of_role(new)}: {reason}"
            case ReportFault(message=message):
                return f" reports: {message}"
            case ShutdownFinished(handed_over=handed_over):
                return f" stops: {'handed over' if handed_over else 'shutdown timed out'}"
            case Halt(reason=reason):
                return f" halts: {reason}"

    def _print(self, detail: Detail, text: str) -> None:
        self._transcript.add(self.timeline.now_ms, detail, text)
