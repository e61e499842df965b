"""Commands that break things and mend them: nodes, links, messages, flushes."""

from __future__ import annotations

from itertools import permutations

from raft.core.events import Failure
from raft.types import NodeId
from tests.scenarios.harness.arguments import Arguments, whole_number
from tests.scenarios.harness.commands.stage import Stage
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.pattern import Pattern
from tests.scenarios.harness.traffic import Held, Link
from tests.simulation.lossy_disk import LossyDisk

_FAILURES = {"disconnected": Failure.DISCONNECTED, "unsupported-version": Failure.UNSUPPORTED_VERSION}


def crash(stage: Stage, arguments: Arguments) -> None:
    """`crash 1 ...`: the power is cut; what was not flushed is lost."""
    for node_id in arguments.nodes():
        machine = stage.world.machine(node_id)
        if machine.process is None:
            raise ScenarioError(f"node {node_id} is down already")
        machine.cut_power()


def restart(stage: Stage, arguments: Arguments) -> None:
    """`restart 1 ...`: start again with what is on the disk; a node that is up crashes first."""
    machines = [stage.world.machine(node_id) for node_id in arguments.nodes()]
    for machine in machines:
        if machine.process is not None:
            machine.cut_power()
    stage.world.start(machines)


def wipe(stage: Stage, arguments: Arguments) -> None:
    """`wipe 3`: a node that is down gets an empty disk."""
    machine = stage.world.machine(arguments.node())
    if machine.process is not None:
        raise ScenarioError(f"node {machine.node_id} is up: crash it first")
    machine.tamper(LossyDisk())


def cut(stage: Stage, arguments: Arguments) -> None:
    """`cut 1-3 1->2 4`: carry nothing there: both ways, one way, or to and from node 4."""
    stage.world.traffic.cut(_links(stage, arguments))


def heal(stage: Stage, arguments: Arguments) -> None:
    """`heal 1-3`, or `heal all`: carry again."""
    stage.world.traffic.heal(_links(stage, arguments))


def links(stage: Stage, arguments: Arguments) -> None:
    """`links 1-2 2-3`: cut all links but these."""
    traffic = stage.world.traffic
    traffic.cut(permutations(stage.world.machines, 2))
    traffic.heal(_links(stage, arguments))


def lose(stage: Stage, arguments: Arguments) -> None:
    """`lose fetch answer 1->3`: lose such messages from now on."""
    stage.world.traffic.lose(Pattern.taken_from(arguments))


def hold(stage: Stage, arguments: Arguments) -> None:
    """`hold vote`: keep such messages back from now on."""
    stage.world.traffic.hold(Pattern.taken_from(arguments))


def carry(stage: Stage, arguments: Arguments) -> None:
    """`carry everything`: end all `lose` and `hold`. What is held stays held, cut links stay cut."""
    arguments.expect("everything")
    stage.world.traffic.carry_everything()


def deliver(stage: Stage, arguments: Arguments) -> None:
    """`deliver [PATTERN]`: let held messages arrive now, each with all that follows from it."""
    for held in _taken(stage, Pattern.taken_from(arguments)):
        stage.world.hand_on(held)


def drop(stage: Stage, arguments: Arguments) -> None:
    """`drop [PATTERN]`: lose held messages."""
    for held in _taken(stage, Pattern.taken_from(arguments)):
        stage.world.drop(held)


def fail(stage: Stage, arguments: Arguments) -> None:
    """`fail pre-vote 1->3: unsupported-version` (or `disconnected`): the sender of held requests hears of it."""
    pattern = Pattern.taken_from(arguments)
    word = arguments.word()
    if word not in _FAILURES:
        raise ScenarioError(f"`{word}`: a request fails by one of {', '.join(_FAILURES)}")
    for held in _taken(stage, pattern):
        stage.world.fail(held, _FAILURES[word])


def _taken(stage: Stage, pattern: Pattern) -> list[Held]:
    taken = stage.world.traffic.take_held(pattern)
    if not taken:
        raise ScenarioError("no such message is held")
    return taken


def delay(stage: Stage, arguments: Arguments) -> None:
    """`delay flushes of 1`: finish no flush of the node until `flush`."""
    arguments.expect("flushes", "of")
    stage.world.machine(arguments.node()).hold_flushes()


def flush(stage: Stage, arguments: Arguments) -> None:
    """`flush 1`: finish what waits, and delay no more."""
    node_id = arguments.node()
    if not stage.world.process(node_id).workers.has_held_flushes:
        raise ScenarioError(f"node {node_id} waits for no flush")
    stage.world.machine(node_id).release_flushes()
    stage.world.settle()


def _links(stage: Stage, arguments: Arguments) -> set[Link]:
    found: set[Link] = set()
    while arguments.has_words:
        found |= _link(stage, arguments.word())
    return found


def _link(stage: Stage, word: str) -> set[Link]:
    every = set(permutations(stage.world.machines, 2))
    if word == "all":
        return every
    if "-" not in word:
        node_id = stage.world.machine(NodeId(whole_number(word))).node_id
        return {link for link in every if node_id in link}
    left, right = word.replace("->", "-").split("-", 1)
    link = (NodeId(whole_number(left)), NodeId(whole_number(right)))
    if link not in every:
        raise ScenarioError(f"`{word}` is no link of this quorum")
    return {link} if "->" in word else {link, link[::-1]}
