"""Commands that print state: `show`, `stored`, `log`, `leaders`, `held`."""

from __future__ import annotations

from raft.core.roles import Follower
from tests.scenarios.harness import words
from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands.context import CommandContext
from tests.simulation.machine import Machine


def show(context: CommandContext, arguments: Arguments) -> None:
    """`show [1 2]`: role, epoch, leader, vote, log and high watermark, one line a node."""
    for machine in _chosen(context, arguments):
        context.transcript.add_result(f"{machine.node_id}: {_state(machine) if machine.process else 'down'}")


def _state(machine: Machine) -> str:
    core = machine.core
    known = "unknown" if core.high_watermark is None else core.high_watermark
    has_fetched = ""
    if isinstance(core.role, Follower) and machine.is_voter:
        has_fetched = f" has-fetched={'yes' if core.role.has_fetched else 'no'}"
    observer = "" if machine.is_voter else " (observer)"
    return f"{words.of_role(core.role)}{observer} log-end={core.log.end_offset} high-watermark={known}{has_fetched}"


def stored(context: CommandContext, arguments: Arguments) -> None:
    """`stored [1 2]`: what the quorum-state file holds, one line a node."""
    for machine in _chosen(context, arguments):
        state = machine.stored_state()
        context.transcript.add_result(f"{machine.node_id}: {words.of_election_state(state) if state else 'nothing'}")


def log(context: CommandContext, arguments: Arguments) -> None:
    """`log [1 2]`: where each epoch starts in the log on disk, and the log's end, one line a node."""
    for machine in _chosen(context, arguments):
        context.transcript.add_result(f"{machine.node_id}: {words.of_log(machine.written_view())}")


def leaders(context: CommandContext, arguments: Arguments) -> None:
    """`leaders`: the nodes that became leader since the start, one line an epoch."""
    for epoch, node_ids in sorted(context.world.reporter.leaders.items()):
        context.transcript.add_result(f"epoch {epoch}: {' '.join(map(str, node_ids))}")
    if not context.world.reporter.leaders:
        context.transcript.add_result("none")


def held(context: CommandContext, arguments: Arguments) -> None:
    """`held`: the messages that are held back, the oldest first."""
    for message, _ in context.world.traffic.held:
        context.transcript.add_result(f"{message.sender} -> {message.receiver}: {words.of_message(message)}")
    if not context.world.traffic.held:
        context.transcript.add_result("none")


def _chosen(context: CommandContext, arguments: Arguments) -> list[Machine]:
    world = context.world
    return [world.machine(node_id) for node_id in arguments.nodes() or world.machines]
