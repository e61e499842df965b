"""The kinds of faults of a quorum; each is a context manager that ends the fault at the end of its block.

All nodes run and all links work when a fault begins. It yields a sentence about what it did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from random import Random

from tests.harness.flood import THROTTLED
from tests.harness.quorum import Quorum
from tests.network.connection import Direction
from tests.network.network import CLIENTS
from tests.processes.server import Server


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
        yield f"node {node_id} is suspended"
    finally:
        node.resume()


@contextmanager
def _cut(quorum: Quorum, dice: Random, directions: set[Direction], what: str) -> Iterator[str]:
    delivers_late = dice.random() < 0.5
    quorum.network.cut(directions)
    try:
        yield f"{what}; {'bytes held back are delivered late' if delivers_late else 'connections are reset at its end'}"
    finally:
        quorum.network.heal(directions, delivers_late=delivers_late)


def kill_leader(quorum: Quorum, _dice: Random) -> AbstractContextManager[str]:
    """The leader is killed, and restarted later."""
    return _kill(quorum, quorum.leader_id())


def kill_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The same of a follower."""
    return _kill(quorum, dice.choice(quorum.followers_of(quorum.leader_id())))


@contextmanager
def kill_all(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """All nodes are killed at once, and restarted at once later."""
    quorum.kill()
    yield "all nodes are killed"
    quorum.start()


@contextmanager
def shut_down_leader(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """The leader is shut down, and restarted later."""
    leader_id = quorum.leader_id()
    exit_code = quorum.nodes[leader_id].terminate()
    assert exit_code == 0, f"node {leader_id} got SIGTERM and ended with {exit_code}"
    yield f"node {leader_id} is shut down"
    quorum.start(leader_id)


def stop_leader(quorum: Quorum, _dice: Random) -> AbstractContextManager[str]:
    """The leader is suspended for longer than the fetch timeout, and resumes without knowing of an election."""
    return _stop(quorum, quorum.leader_id())


def stop_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The same of a follower."""
    return _stop(quorum, dice.choice(quorum.followers_of(quorum.leader_id())))


def cut_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader and the others are partitioned; clients still reach all nodes."""
    leader_id = quorum.leader_id()
    directions = _both_ways(leader_id, quorum.followers_of(leader_id))
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, is partitioned from the others")


def isolate_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader is partitioned from the other nodes and from all clients."""
    leader_id = quorum.leader_id()
    directions = _both_ways(leader_id, [*quorum.followers_of(leader_id), CLIENTS])
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, is partitioned from all nodes and clients")


def cut_clients(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """Clients do not reach the leader. The other nodes do, so it goes on to lead."""
    leader_id = quorum.leader_id()
    directions = _both_ways(leader_id, [CLIENTS])
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, is partitioned from all clients")


def cut_follower(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """A follower is partitioned from both other nodes; clients still reach it."""
    node_id = dice.choice(quorum.followers_of(quorum.leader_id()))
    others = [other_id for other_id in quorum.nodes if other_id != node_id]
    return _cut(quorum, dice, _both_ways(node_id, others), f"node {node_id} is partitioned from the others")


def cut_inbound_of_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """Nothing that the others send reaches the leader; what the leader sends reaches them."""
    leader_id = quorum.leader_id()
    directions = {(other_id, leader_id) for other_id in quorum.followers_of(leader_id)}
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, receives nothing from the others")


def cut_outbound_of_leader(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """Nothing that the leader sends reaches the others; what they send reaches the leader."""
    leader_id = quorum.leader_id()
    directions = {(leader_id, other_id) for other_id in quorum.followers_of(leader_id)}
    return _cut(quorum, dice, directions, f"the others receive nothing from node {leader_id}, the leader")


def cut_link(quorum: Quorum, dice: Random) -> AbstractContextManager[str]:
    """The leader and one follower are partitioned; the third node reaches both."""
    leader_id = quorum.leader_id()
    other_id = dice.choice(quorum.followers_of(leader_id))
    directions = _both_ways(leader_id, [other_id])
    return _cut(quorum, dice, directions, f"node {leader_id}, the leader, and node {other_id} are partitioned")


@contextmanager
def kill_leader_of_two(quorum: Quorum, dice: Random) -> Iterator[str]:
    """The leader is killed while a follower is suspended: one node runs, and then the follower resumes."""
    leader_id = quorum.leader_id()
    with _kill(quorum, leader_id), _stop(quorum, dice.choice(quorum.followers_of(leader_id))) as what:
        yield f"node {leader_id}, the leader, is killed, and {what}"


@contextmanager
def kill_leader_of_one_behind(quorum: Quorum, dice: Random) -> Iterator[str]:
    """A follower is suspended, and the leader is killed as it resumes: the logs of the other two differ."""
    with _stop(quorum, dice.choice(quorum.followers_of(quorum.leader_id()))) as what:
        yield f"{what}, and the leader is killed as it resumes"
        leader_id = quorum.leader_id()
        quorum.nodes[leader_id].kill()
    quorum.leader_id()
    quorum.start(leader_id)


@contextmanager
def reset_connections(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """All connections are reset on both sides."""
    quorum.network.reset([CLIENTS, *quorum.nodes])
    yield "all connections are reset"


@contextmanager
def half_open_connections(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """All connections are closed on the side of the node that accepted them; the other side is not notified."""
    quorum.network.half_open([CLIENTS, *quorum.nodes])
    yield "all connections are left half open"


@contextmanager
def flood_all(quorum: Quorum, _dice: Random) -> Iterator[str]:
    """All nodes are flooded with requests. On an open quorum the client has a quota, and is throttled."""
    protocol, listeners = quorum.listeners
    command = (sys.executable, "-m", "tests.harness.flood", protocol, *map(str, listeners))
    with Server("flood", command, log_file=quorum.folder / "flood.txt").start() as flood:
        yield "all nodes are flooded"
        if quorum.security is None:
            flood.wait_until_printed(THROTTLED)


def _both_ways(node_id: int, others: Iterable[int]) -> set[Direction]:
    return {direction for other_id in others for direction in ((node_id, other_id), (other_id, node_id))}
