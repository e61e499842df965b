"""Commands that set a scenario up: `quorum`, `node`, `print`."""

from __future__ import annotations

from raft.types import ElectionState, Epoch, NodeId, ReplicaKey
from tests.scenarios.harness.arguments import Arguments, whole_number
from tests.scenarios.harness.commands.context import CommandContext
from tests.scenarios.harness.dice import Dice, own_timeout_ms
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.logs import write_disk, written_log
from tests.scenarios.harness.quiet_plan import QuorumSettings
from tests.scenarios.harness.transcript import Detail
from tests.scenarios.harness.world import ScenarioWorld


def quorum(context: CommandContext, arguments: Arguments) -> None:
    """`quorum voters=1,2,3 [observers=4] [election-timeout=] [fetch-timeout=] [request-timeout=] [fetch-max-bytes=]
    [seed=]`: a new world at 0 ms, its nodes empty and not started. With a seed, election timeouts are random.
    """
    voter_ids = [NodeId(node_id) for node_id in arguments.numbers_option("voters")]
    observer_ids = [NodeId(node_id) for node_id in arguments.numbers_option("observers")]
    if not voter_ids:
        raise ScenarioError("`voters=` is missing")
    election_ms = arguments.number_option("election-timeout", 1000)
    seed = arguments.option("seed")
    context.current = ScenarioWorld(
        context.transcript,
        QuorumSettings(
            voters=tuple(voter_ids),
            observers=tuple(observer_ids),
            election_ms=election_ms,
            fetch_ms=arguments.number_option("fetch-timeout", 2000),
            request_ms=arguments.number_option("request-timeout", 2000),
            fetch_max_bytes=arguments.number_option("fetch-max-bytes", 1 << 20),
            dice=lambda node_id: _first_dice(node_id, election_ms, seed),
        ),
    )


def node(context: CommandContext, arguments: Arguments) -> None:
    """`node 2 3 [epoch=] [leader=] [vote=] [log=1@0,3@10..15] [timeouts=1000,1500]`: what is on the disks of nodes that
    are not started yet, and the election timeouts that they will draw.
    """
    chosen = [context.world.machine(node_id) for node_id in arguments.nodes()]
    state = _election_state(arguments)
    log = arguments.option("log")
    timeouts_ms = arguments.numbers_option("timeouts")
    for one in chosen:
        if one.process is not None:
            raise ScenarioError(f"node {one.node_id} is up: its disk cannot be changed")
        if state is not None or log is not None:
            write_disk(one, state, None if log is None else written_log(log))
        if timeouts_ms:
            one.draw = Dice.repeating(base_ms=context.world.election_ms, timeouts_ms=timeouts_ms).draw


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


def print_(context: CommandContext, arguments: Arguments) -> None:
    """`print everything|elections|roles|nothing`: the level of detail from now on."""
    word = arguments.word()
    try:
        context.transcript.detail = Detail[word.upper()]
    except KeyError:
        raise ScenarioError(f"`{word}`: print everything, elections, roles or nothing") from None


def _first_dice(node_id: NodeId, base_ms: int, seed: str | None) -> Dice:
    if seed is not None:
        return Dice.seeded(base_ms=base_ms, seed=whole_number(seed), node_id=node_id)
    return Dice.repeating(base_ms=base_ms, timeouts_ms=(own_timeout_ms(node_id, base_ms),))
