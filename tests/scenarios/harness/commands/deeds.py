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
from tests.scenarios.harness.commands.stage import Stage
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.logs import data_batch
from tests.scenarios.harness.transcript import Detail
from tests.scenarios.harness.world import ScenarioWorld
from tests.simulation.clients.producer import append_response
from tests.simulation.starting import TOPIC, endpoint_of

_PATIENCE_MS = 60_000
"""`wait until` gives up after so long."""

_APPEND_TIMEOUT_MS = 30_000
_CLIENT = -1
_PRODUCE_VERSION = 12


def start(stage: Stage, arguments: Arguments) -> None:
    """`start [1 2]`: start these nodes, or all, at the same moment."""
    world = stage.world
    node_ids = arguments.nodes() or tuple(world.machines)
    world.start([world.machine(node_id) for node_id in node_ids])


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


def _condition(world: ScenarioWorld, arguments: Arguments) -> Callable[[], bool]:
    if arguments.peek() == "anybody":
        arguments.expect("anybody", "leads")
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
    raise ScenarioError(f"`{verb}`: wait until a node `is` something or `follows` somebody")


def append(stage: Stage, arguments: Arguments) -> None:
    """`append 3 records at 1`: a client appends one batch; it is answered when that is committed."""
    record_count = arguments.number()
    arguments.expect("records", "at")
    world = stage.world
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
        on_response=lambda frame: _tell_response(stage, node_id, frame),
    )
    world.settle()


def _tell_response(stage: Stage, node_id: NodeId, frame: bytes) -> None:
    response = decode_response(frame, PRODUCE, _PRODUCE_VERSION)[1]
    ((partition,),) = (topic.partition_responses for topic in response.responses)
    text = f"{node_id} answers the append: {words.of_append_response(append_response(partition))}"
    stage.transcript.tell(stage.world.now_ms, Detail.ROLES, text)


def shutdown(stage: Stage, arguments: Arguments) -> None:
    """`shutdown 1 within 5000 ms`: stop gracefully."""
    process = stage.world.process(arguments.node())
    arguments.expect("within")
    timeout_ms = arguments.number()
    arguments.expect("ms")
    process.submit(ShutdownRequested(timeout_ms=timeout_ms))
    stage.world.settle()


def resign(stage: Stage, arguments: Arguments) -> None:
    """`resign 1`: an operator wants another leader than node 1, which leads, in its present epoch."""
    process = stage.world.process(arguments.node())
    core = process.core
    if not isinstance(core.role, Leader):
        raise ScenarioError(f"node {core.node_id} does not lead")
    process.submit(ResignRequested(epoch=core.epoch))
    stage.world.settle()


def _follows(core: RaftCore, leader_id: NodeId) -> bool:
    return isinstance(core.role, Follower) and core.leader_id == leader_id
