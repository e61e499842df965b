"""Commands that only look: `show`, `stored`, `log`, `leaders`, `held`."""

from __future__ import annotations

from raft.core.roles import Follower
from tests.scenarios.harness import words
from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands.stage import Stage
from tests.simulation.machine import Machine


def show(stage: Stage, arguments: Arguments) -> None:
    """`show [1 2]`: role, epoch, leader, vote, log and high watermark, one line a node."""
    for machine in _chosen(stage, arguments):
        stage.transcript.answer(f"{machine.node_id}: {_standing(machine) if machine.process else 'down'}")


def _standing(machine: Machine) -> str:
    core = machine.core
    known = "unknown" if core.high_watermark is None else core.high_watermark
    has_fetched = ""
    if isinstance(core.role, Follower) and machine.is_voter:
        has_fetched = f" has-fetched={'yes' if core.role.has_fetched else 'no'}"
    observer = "" if machine.is_voter else " (observer)"
    return f"{words.of_role(core.role)}{observer} log-end={core.log.end_offset} high-watermark={known}{has_fetched}"


def stored(stage: Stage, arguments: Arguments) -> None:
    """`stored [1 2]`: what the quorum-state file holds, one line a node."""
    for machine in _chosen(stage, arguments):
        state = machine.stored_state()
        stage.transcript.answer(f"{machine.node_id}: {words.of_election_state(state) if state else 'nothing'}")


def log(stage: Stage, arguments: Arguments) -> None:
    """`log [1 2]`: where each epoch starts in the log on disk, and the log's end, one line a node."""
    for machine in _chosen(stage, arguments):
        stage.transcript.answer(f"{machine.node_id}: {words.of_log(machine.written_view())}")


def leaders(stage: Stage, arguments: Arguments) -> None:
    """`leaders`: who became leader of which epoch since the start, one line an epoch."""
    for epoch, node_ids in sorted(stage.world.reporter.leaders.items()):
        stage.transcript.answer(f"epoch {epoch}: {' '.join(map(str, node_ids))}")
    if not stage.world.reporter.leaders:
        stage.transcript.answer("none")


def held(stage: Stage, arguments: Arguments) -> None:
    """`held`: the messages that are held back, oldest first."""
    for message, _ in stage.world.traffic.held:
        stage.transcript.answer(f"{message.sender} -> {message.receiver}: {words.of_message(message)}")
    if not stage.world.traffic.held:
        stage.transcript.answer("none")


def _chosen(stage: Stage, arguments: Arguments) -> list[Machine]:
    world = stage.world
    return [world.machine(node_id) for node_id in arguments.nodes() or world.machines]
