"""What is done to a quorum: each fault is a context manager, in which it lasts and after which all is well again.

All nodes run and nothing is cut when a fault begins. It yields what it did, in words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from random import Random

from tests.network.connection import Direction
from tests.network.network import CLIENTS
from tests.soak.quorum import Quorum

Fault = Callable[[Quorum, Random], AbstractContextManager[str]]


@contextmanager
def _kill(quorum: Quorum, node_id: int) -> Iterator[str]:
    quorum.nodes[node_id].kill()
    yield f"node {node_id} is killed"
    quorum.start(node_id)


@contextmanager
def _stop(quorum: Quorum, node_id: int) -> Iterator[str]:
    node = quorum.nodes[node_id]
    node.suspend()
    try:
        yield f"node {node_id} stands still"
    finally:
        node.resume()


@contextmanager
def _cut(quorum: Quorum, dice: Random, directions: set[Direction], what: str) -> Iterator[str]:
    delivers_late = dice.random() < 0.5
    quorum.network.cut(directions)
    try:
        yield f"{what}; {'what is held back comes late' if delivers_late else 'connections are reset at its end'}"
    finally:
        quorum.network.heal(directions, delivers_late=delivers_late)


def kill_leader(quorum: Quorum, _dice: Random) -> AbstractContextManager[str]:
    """The leader ends without a word, and is started again later."""
    return _kill(quorum, quorum.leader_id())


def kill_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The same of a follower."""
    return _kill(quorum, dice.choice(quorum.followers_of(quorum.leader_id())))


@contextmanager
def kill_all(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """All nodes end at once, and are started again later, at once too."""
    quorum.kill()
    yield "all nodes are killed"
    quorum.start()


@contextmanager
def hand_over(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """The leader is asked to leave, does so, and is started again later."""
    leader_id = quorum.leader_id()
    exit_code = quorum.nodes[leader_id].terminate()
    assert exit_code == 0, f"node {leader_id} was asked to leave and ended with {exit_code}"
    yield f"node {leader_id} is asked to leave"
    quorum.start(leader_id)


def stop_leader(quorum: Quorum, _dice: Random) -> AbstractContextManager[str]:
    """The leader's process stands still for longer than the others wait for it, and then goes on, knowing nothing."""
    return _stop(quorum, quorum.leader_id())


def stop_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The same of a follower."""
    return _stop(quorum, dice.choice(quorum.followers_of(quorum.leader_id())))


def cut_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader hears neither of the others nor they of it; clients still reach all."""
    leader_id = quorum.leader_id()
    directions = _both_ways(leader_id, quorum.followers_of(leader_id))
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, is cut off from the others")


def isolate_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader hears of nobody, nobody of it."""
    leader_id = quorum.leader_id()
    directions = _both_ways(leader_id, [*quorum.followers_of(leader_id), CLIENTS])
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, is cut off from everybody")


def cut_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """A follower is cut off from both others; clients still reach it."""
    node_id = dice.choice(quorum.followers_of(quorum.leader_id()))
    others = [other_id for other_id in quorum.nodes if other_id != node_id]
    return _cut(quorum, dice, _both_ways(node_id, others), f"node {node_id} is cut off from the others")


def deafen_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """What the others say does not arrive at the leader; what it says arrives."""
    leader_id = quorum.leader_id()
    directions = {(other_id, leader_id) for other_id in quorum.followers_of(leader_id)}
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, hears nothing of the others")


def mute_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """What the leader says does not arrive at the others; what they say arrives."""
    leader_id = quorum.leader_id()
    directions = {(leader_id, other_id) for other_id in quorum.followers_of(leader_id)}
    return _cut(quorum, dice, directions, f"the others hear nothing of node {leader_id}, the leader")


def cut_link(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader and one follower do not hear of each other; the third node hears of both."""
    leader_id = quorum.leader_id()
    other_id = dice.choice(quorum.followers_of(leader_id))
    directions = _both_ways(leader_id, [other_id])
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, and node {other_id} are cut off")


@contextmanager
def kill_leader_of_two(quorum: Quorum, dice: Random) -> Iterator[str]:
    """While a follower stands still, the leader is killed: one node is left, and then the other one wakes up."""
    leader_id = quorum.leader_id()
    with _kill(quorum, leader_id), _stop(quorum, dice.choice(quorum.followers_of(leader_id))) as what:
        yield f"node {leader_id}, the leader, is killed, and {what}"


@contextmanager
def kill_leader_of_one_behind(quorum: Quorum, dice: Random) -> Iterator[str]:
    """A follower stands still, and as it goes on, the leader is killed: the two that are left have different logs."""
    with _stop(quorum, dice.choice(quorum.followers_of(quorum.leader_id()))) as what:
        yield f"{what}, and the leader is killed as it goes on"
        leader_id = quorum.leader_id()
        quorum.nodes[leader_id].kill()
    quorum.leader_id()
    quorum.start(leader_id)


@contextmanager
def reset_connections(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """Every connection breaks, on both sides."""
    quorum.network.reset([CLIENTS, *quorum.nodes])
    yield "all connections are reset"


@contextmanager
def half_open_connections(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """Every connection breaks, and those who opened them are not told."""
    quorum.network.half_open([CLIENTS, *quorum.nodes])
    yield "all connections are left half open"


FAULTS: Mapping[str, Fault] = {
    "leader killed": kill_leader,
    "follower killed": kill_follower,
    "all killed": kill_all,
    "leader hands over": hand_over,
    "leader stopped": stop_leader,
    "follower stopped": stop_follower,
    "leader cut off": cut_leader,
    "leader isolated": isolate_leader,
    "follower cut off": cut_follower,
    "leader deaf": deafen_leader,
    "leader mute": mute_leader,
    "link cut": cut_link,
    "leader killed, follower stopped": kill_leader_of_two,
    "follower stopped, then leader killed": kill_leader_of_one_behind,
    "connections reset": reset_connections,
    "connections half open": half_open_connections,
}
"""Every kind of fault, by its name."""


def _both_ways(node_id: int, others: list[int]) -> set[Direction]:
    return {direction for other_id in others for direction in ((node_id, other_id), (other_id, node_id))}
