"""Commands that set the scene: `quorum`, `node`, `print`."""

from __future__ import annotations

from dataclasses import replace

from raft.core.config import CoreConfig
from raft.core.voter_set import VoterSet
from raft.types import ElectionState, Endpoint, Epoch, NodeId, ReplicaKey
from tests.scenarios.harness.arguments import Arguments, whole_number
from tests.scenarios.harness.commands.stage import Stage
from tests.scenarios.harness.dice import Dice, own_timeout_ms
from tests.scenarios.harness.disk import written_log
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.node import Node
from tests.scenarios.harness.transcript import Detail
from tests.scenarios.harness.world import World

CLUSTER_ID = "this-cluster"
"""The cluster that every node of a scenario belongs to."""


def quorum(stage: Stage, arguments: Arguments) -> None:
    """`quorum voters=1,2,3 [observers=4] [election-timeout=] [fetch-timeout=] [request-timeout=] [fetch-max-bytes=]
    [seed=]`: a new world at 0 ms, its nodes empty and not started. With a seed, election timeouts are drawn by chance.
    """
    voter_ids = [NodeId(node_id) for node_id in arguments.numbers_option("voters")]
    observer_ids = [NodeId(node_id) for node_id in arguments.numbers_option("observers")]
    if not voter_ids:
        raise ScenarioError("`voters=` is missing")
    pattern = CoreConfig(
        replica=ReplicaKey(voter_ids[0]),
        cluster_id=CLUSTER_ID,
        voters=VoterSet.static({node_id: endpoint_of(node_id) for node_id in voter_ids}),
        election_timeout_ms=arguments.number_option("election-timeout", 1000),
        fetch_timeout_ms=arguments.number_option("fetch-timeout", 2000),
        request_timeout_ms=arguments.number_option("request-timeout", 2000),
        fetch_max_bytes=arguments.number_option("fetch-max-bytes", 1 << 20),
    )
    seed = arguments.option("seed")
    configs = [replace(pattern, replica=ReplicaKey(node_id)) for node_id in (*voter_ids, *observer_ids)]
    stage.world = World(stage.transcript, [Node(config, _first_dice(config, seed)) for config in configs])


def node(stage: Stage, arguments: Arguments) -> None:
    """`node 2 3 [epoch=] [leader=] [vote=] [log=1@0,3@10..15] [timeouts=1000,1500]`: what is on the disks of nodes that
    are not started yet, and the election timeouts that they will draw.
    """
    chosen = [stage.world.node(node_id) for node_id in arguments.nodes()]
    state = _election_state(arguments)
    log = arguments.option("log")
    timeouts_ms = arguments.numbers_option("timeouts")
    for one in chosen:
        if one.is_up:
            raise ScenarioError(f"node {one.node_id} is up: its disk is its own")
        one.disk.election_state = state or one.disk.election_state
        if log is not None:
            one.disk.batches = written_log(log)
            one.disk.flushed_end = one.disk.end_offset
        if timeouts_ms:
            one.dice = Dice.loaded(base_ms=one.config.election_timeout_ms, timeouts_ms=timeouts_ms)


def _election_state(arguments: Arguments) -> ElectionState | None:
    epoch, leader, vote = (arguments.option(key) for key in ("epoch", "leader", "vote"))
    if epoch is None:
        if leader or vote:
            raise ScenarioError("a leader or a vote belongs to an `epoch=`")
        return None
    return ElectionState(
        epoch=Epoch(whole_number(epoch)),
        leader_id=None if leader is None else NodeId(whole_number(leader)),
        voted_key=None if vote is None else ReplicaKey(NodeId(whole_number(vote))),
    )


def print_(stage: Stage, arguments: Arguments) -> None:
    """`print everything|elections|roles|nothing`: how much is told from now on."""
    word = arguments.word()
    try:
        stage.transcript.detail = Detail[word.upper()]
    except KeyError:
        raise ScenarioError(f"`{word}`: print everything, elections, roles or nothing") from None


def endpoint_of(node_id: NodeId) -> Endpoint:
    """Where a node of a scenario listens."""
    return Endpoint(f"node-{node_id}", 9093)


def _first_dice(config: CoreConfig, seed: str | None) -> Dice:
    base_ms = config.election_timeout_ms
    if seed is not None:
        return Dice.seeded(base_ms=base_ms, seed=whole_number(seed), node_id=config.node_id)
    return Dice.loaded(base_ms=base_ms, timeouts_ms=(own_timeout_ms(config.node_id, base_ms),))
