"""Commands that make something happen: `start`, `wait`, `append`, `shutdown`, `resign`."""

from __future__ import annotations

from collections.abc import Callable

from raft.core.events import AppendRequested, ResignRequested, ShutdownRequested
from raft.core.roles import Follower, Leader
from raft.errors import LocalProtocolError
from raft.types import NodeId
from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands.stage import Stage
from tests.scenarios.harness.disk import data_batch
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.world import World

_PATIENCE_MS = 60_000
"""`wait until` gives up after so long."""

_APPEND_TIMEOUT_MS = 30_000


def start(stage: Stage, arguments: Arguments) -> None:
    """`start [1 2]`: start these nodes, or all, at the same moment."""
    world = stage.world
    node_ids = arguments.nodes() or tuple(world.nodes)
    world.start([world.node(node_id) for node_id in node_ids])


def wait(stage: Stage, arguments: Arguments) -> None:
    """`wait 2000 ms`, or `wait until 2 is leader`, `2 follows 1`, `anybody leads`: let time pass; print the time."""
    world = stage.world
    if arguments.peek() == "until":
        arguments.word()
        is_reached = _condition(world, arguments)
        world.wait(world.now_ms + _PATIENCE_MS, is_reached)
        if not is_reached():
            raise ScenarioError(f"{_PATIENCE_MS} ms later it still is not so")
    else:
        until_ms = world.now_ms + arguments.number()
        arguments.expect("ms")
        world.wait(until_ms, lambda: False)
    stage.transcript.stamp(world.now_ms)


def _condition(world: World, arguments: Arguments) -> Callable[[], bool]:
    if arguments.peek() == "anybody":
        arguments.expect("anybody", "leads")
        return lambda: any(isinstance(node.core.role, Leader) for node in world.nodes.values() if node.is_up)
    node = world.node(arguments.node())
    verb = arguments.word()
    if verb == "is":
        role = arguments.word()
        return lambda: type(node.core.role).__name__.lower() == role
    if verb == "follows":
        leader_id: NodeId = arguments.node()
        return lambda: isinstance(node.core.role, Follower) and node.core.leader_id == leader_id
    raise ScenarioError(f"`{verb}`: wait until a node `is` something or `follows` somebody")


def append(stage: Stage, arguments: Arguments) -> None:
    """`append 3 records at 1`: a client appends one batch; it is answered when that is committed."""
    record_count = arguments.number()
    arguments.expect("records", "at")
    world = stage.world
    request = AppendRequested(
        request_id=world.post_office.new_request_id(), batch=data_batch(record_count), timeout_ms=_APPEND_TIMEOUT_MS
    )
    world.happen(world.node(arguments.node()), request)


def shutdown(stage: Stage, arguments: Arguments) -> None:
    """`shutdown 1 within 5000 ms`: stop gracefully."""
    node = stage.world.node(arguments.node())
    arguments.expect("within")
    timeout_ms = arguments.number()
    arguments.expect("ms")
    stage.world.happen(node, ShutdownRequested(timeout_ms=timeout_ms))


def resign(stage: Stage, arguments: Arguments) -> None:
    """`resign 1`: an operator wants another leader than node 1 in its present epoch."""
    node = stage.world.node(arguments.node())
    try:
        stage.world.happen(node, ResignRequested(epoch=node.core.epoch))
    except LocalProtocolError as error:
        stage.transcript.answer(f"{node.node_id} refuses: {error}")
