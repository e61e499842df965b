"""Commands that cause faults and end them: nodes, links, messages, flushes."""

from __future__ import annotations

from itertools import permutations

from raft.core.events import Failure
from raft.types import NodeId
from tests.scenarios.harness.arguments import Arguments, whole_number
from tests.scenarios.harness.commands.context import CommandContext
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.pattern import Pattern
from tests.scenarios.harness.traffic import Held, Link
from tests.simulation.lossy_disk import LossyDisk

_FAILURES = {"disconnected": Failure.DISCONNECTED, "unsupported-version": Failure.UNSUPPORTED_VERSION}


def crash(context: CommandContext, arguments: Arguments) -> None:
    """`crash 1 ...`: cut the power; unflushed bytes are lost."""
    for node_id in arguments.nodes():
        machine = context.world.machine(node_id)
        if machine.process is None:
            raise ScenarioError(f"node {node_id} is down already")
        machine.cut_power()


def restart(context: CommandContext, arguments: Arguments) -> None:
    """`restart 1 ...`: start again from the disk; a running node crashes first."""
    machines = [context.world.machine(node_id) for node_id in arguments.nodes()]
    for machine in machines:
        if machine.process is not None:
            machine.cut_power()
    context.world.start(machines)


def wipe(context: CommandContext, arguments: Arguments) -> None:
    """`wipe 3`: a node that is down gets an empty disk."""
    machine = context.world.machine(arguments.node())
    if machine.process is not None:
        raise ScenarioError(f"node {machine.node_id} is up: crash it first")
    machine.tamper(LossyDisk())


def cut(context: CommandContext, arguments: Arguments) -> None:
    """`cut 1-3 1->2 4`: cut links in both directions, in one direction, or all links of node 4."""
    context.world.traffic.cut(_links(context, arguments))


def heal(context: CommandContext, arguments: Arguments) -> None:
    """`heal 1-3`, or `heal all`: mend cut links."""
    context.world.traffic.heal(_links(context, arguments))


def links(context: CommandContext, arguments: Arguments) -> None:
    """`links 1-2 2-3`: cut all links but these."""
    traffic = context.world.traffic
    traffic.cut(permutations(context.world.machines, 2))
    traffic.heal(_links(context, arguments))


def lose(context: CommandContext, arguments: Arguments) -> None:
    """`lose fetch response 1->3`: lose matching messages from now on."""
    context.world.traffic.lose(Pattern.taken_from(arguments))


def hold(context: CommandContext, arguments: Arguments) -> None:
    """`hold vote`: hold matching messages back from now on."""
    context.world.traffic.hold(Pattern.taken_from(arguments))


def carry(context: CommandContext, arguments: Arguments) -> None:
    """`carry everything`: end all `lose` and `hold`. Held messages stay held, and cut links stay cut."""
    arguments.expect("everything")
    context.world.traffic.carry_everything()


def deliver(context: CommandContext, arguments: Arguments) -> None:
    """`deliver [PATTERN]`: deliver held messages now, and run what follows from each."""
    for held in _taken(context, Pattern.taken_from(arguments)):
        context.world.deliver(held)


def drop(context: CommandContext, arguments: Arguments) -> None:
    """`drop [PATTERN]`: lose held messages."""
    for held in _taken(context, Pattern.taken_from(arguments)):
        context.world.drop(held)


def fail(context: CommandContext, arguments: Arguments) -> None:
    """`fail pre-vote 1->3: unsupported-version` (or `disconnected`): held requests fail at their senders."""
    pattern = Pattern.taken_from(arguments)
    word = arguments.word()
    if word not in _FAILURES:
        raise ScenarioError(f"`{word}`: expected one of {', '.join(_FAILURES)}")
    for held in _taken(context, pattern):
        context.world.fail(held, _FAILURES[word])


def _taken(context: CommandContext, pattern: Pattern) -> list[Held]:
    taken = context.world.traffic.take_held(pattern)
    if not taken:
        raise ScenarioError("no such message is held")
    return taken


def delay(context: CommandContext, arguments: Arguments) -> None:
    """`delay flushes of 1`: hold back the flushes of a node until `flush`."""
    arguments.expect("flushes", "of")
    context.world.machine(arguments.node()).hold_flushes()


def flush(context: CommandContext, arguments: Arguments) -> None:
    """`flush 1`: do the flushes that were held back, and delay no more."""
    node_id = arguments.node()
    if not context.world.process(node_id).workers.has_held_flushes:
        raise ScenarioError(f"node {node_id} waits for no flush")
    context.world.machine(node_id).release_flushes()
    context.world.settle()


def _links(context: CommandContext, arguments: Arguments) -> set[Link]:
    found: set[Link] = set()
    while arguments.has_words:
        found |= _link(context, arguments.word())
    return found


def _link(context: CommandContext, word: str) -> set[Link]:
    every = set(permutations(context.world.machines, 2))
    if word == "all":
        return every
    if "-" not in word:
        node_id = context.world.machine(NodeId(whole_number(word))).node_id
        return {link for link in every if node_id in link}
    left, right = word.replace("->", "-").split("-", 1)
    link = (NodeId(whole_number(left)), NodeId(whole_number(right)))
    if link not in every:
        raise ScenarioError(f"`{word}` is no link of this quorum")
    return {link} if "->" in word else {link, link[::-1]}
