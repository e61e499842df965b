"""Commands that make something happen: `start`, `wait`, `append`, `shutdown`, `resign`."""

from __future__ import annotations

from collections.abc import Callable

from raft.core import RaftCore
from raft.core.events import ResignRequested, ShutdownRequested
from raft.core.roles import Follower, Leader
from raft.types import NodeId
from raft.wire.apis import PRODUCE
from raft.wire.frames import decode_response, encode_request
from raft.wire.messages.produce import ProduceRequest, ProduceRequestPartition, ProduceRequestTopic
from tests.scenarios.harness import words
from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.commands.context import CommandContext
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.logs import data_batch
from tests.scenarios.harness.transcript import Detail
from tests.scenarios.harness.world import ScenarioWorld
from tests.simulation.clients.producer import append_response
from tests.simulation.starting import TOPIC, endpoint_of

_MAX_WAIT_MS = 60_000
"""`wait until` fails after this time."""

_APPEND_TIMEOUT_MS = 30_000
_CLIENT = -1
_PRODUCE_VERSION = 12


def start(context: CommandContext, arguments: Arguments) -> None:
    """`start [1 2]`: start these nodes, or all, at the same moment."""
    world = context.world
    node_ids = arguments.nodes() or tuple(world.machines)
    world.start([world.machine(node_id) for node_id in node_ids])


def wait(context: CommandContext, arguments: Arguments) -> None:
    """`wait 2000 ms`, or `wait until 2 is leader`, `2 follows 1`, `any node leads`: let time pass; print the time."""
    world = context.world
    if arguments.peek() == "until":
        arguments.word()
        is_reached = _condition(world, arguments)
        world.wait(world.now_ms + _MAX_WAIT_MS, is_reached)
        if not is_reached():
            raise ScenarioError(f"{_MAX_WAIT_MS} ms later the condition still does not hold")
    else:
        until_ms = world.now_ms + arguments.number()
        arguments.expect("ms")
        world.wait(until_ms, lambda: False)
    context.transcript.add_time(world.now_ms)


def _condition(world: ScenarioWorld, arguments: Arguments) -> Callable[[], bool]:
    if arguments.peek() == "any":
        arguments.expect("any", "node", "leads")
        return lambda: any(machine.is_leader for machine in world.machines.values())
    node_id = arguments.node()
    world.machine(node_id)
    verb = arguments.word()
    if verb == "is":
        role = arguments.word()
        return lambda: type(world.process(node_id).core.role).__name__.lower() == role
    if verb == "follows":
        leader_id: NodeId = arguments.node()
        return lambda: _follows(world.process(node_id).core, leader_id)
    raise ScenarioError(f"`{verb}`: wait until a node `is` something or `follows` a node")


def append(context: CommandContext, arguments: Arguments) -> None:
    """`append 3 records at 1`: a client appends one batch, and gets its response when that is committed."""
    record_count = arguments.number()
    arguments.expect("records", "at")
    world = context.world
    node_id = arguments.node()
    world.process(node_id)
    partition = ProduceRequestPartition(index=0, records=data_batch(record_count))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=_APPEND_TIMEOUT_MS,
        topic_data=(ProduceRequestTopic(name=TOPIC, partition_data=(partition,)),),
    )
    world.post_office.send_frame(
        _CLIENT,
        endpoint_of(node_id),
        encode_request(request, _PRODUCE_VERSION, correlation_id=0, client_id="a client"),
        on_response=lambda frame: _print_response(context, node_id, frame),
    )
    world.settle()


def _print_response(context: CommandContext, node_id: NodeId, frame: bytes) -> None:
    response = decode_response(frame, PRODUCE, _PRODUCE_VERSION)[1]
    ((partition,),) = (topic.partition_responses for topic in response.responses)
    text = f"{node_id} responds to the append: {words.of_append_response(append_response(partition))}"
    context.transcript.add(context.world.now_ms, Detail.ROLES, text)


def shutdown(context: CommandContext, arguments: Arguments) -> None:
    """`shutdown 1 within 5000 ms`: shut down gracefully."""
    process = context.world.process(arguments.node())
    arguments.expect("within")
    timeout_ms = arguments.number()
    arguments.expect("ms")
    process.submit(ShutdownRequested(timeout_ms=timeout_ms))
    context.world.settle()


def resign(context: CommandContext, arguments: Arguments) -> None:
    """`resign 1`: an operator makes node 1, which leads, resign."""
    process = context.world.process(arguments.node())
    core = process.core
    if not isinstance(core.role, Leader):
        raise ScenarioError(f"node {core.node_id} does not lead")
    process.submit(ResignRequested(epoch=core.epoch))
    context.world.settle()


def _follows(core: RaftCore, leader_id: NodeId) -> bool:
    return isinstance(core.role, Follower) and core.leader_id == leader_id
