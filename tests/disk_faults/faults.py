"""The faults with which Jepsen's report on NATS 2.12.1 found losses, each on five nodes.

Source: jepsen.io/analyses/nats-2.12.1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from random import Random

from tests.disk_faults.stage import Stage
from tests.disk_faults.system import Node
from tests.node.harness.damage import flip_bit
from tests.node.harness.waiting import eventually

Fault = Callable[[Stage, Random], str]
"""Strikes, and ends: all nodes that can run do so afterwards. Returns a sentence about what it did."""

Damage = Callable[[Path, Random], None]

MORE = 200
"""So many values are acknowledged between two steps of a fault."""

_PROGRESS_S = 60.0
_SNAPSHOTS_S = 150.0
_BYTES_FOR_A_BIT = 64 << 10


def _power_of_all(stage: Stage, _dice: Random) -> str:
    """All hosts lose power at the same moment."""
    stage.lose_power(stage.nodes)
    stage.start(stage.nodes)
    return "all nodes lost power at once"


def _power_of_one(stage: Stage, dice: Random) -> str:
    """Two are behind, one loses power, and then these three are the majority."""
    leader = stage.system.leader()
    behind, victim, others = _roles(stage.nodes, leader, dice)
    stage.suspend(behind)
    assert stage.load.wait_for(MORE, within_s=_PROGRESS_S), "three of five nodes acknowledge appends"
    stage.lose_power([victim])
    stage.suspend([leader, *others])
    stage.start([victim])
    stage.resume(behind)
    stage.load.wait_for(MORE, within_s=_PROGRESS_S / 2)
    stage.resume_all()
    return "a node lost power; two that were behind and it were the majority"


def _damaged(files_of: Callable[[Node], Sequence[Path]], damage: Damage, what: str, stage: Stage, dice: Random) -> str:
    """The files of two of five nodes are damaged while no node runs."""
    victims = dice.sample(list(stage.nodes), 2)
    eventually(
        lambda: all(files_of(victim) for victim in victims), f"files for: {what}", within_s=_SNAPSHOTS_S, every_s=1
    )
    stage.kill(stage.nodes)
    count = 0
    for victim in victims:
        for file in files_of(victim):
            damage(file, dice)
            count += 1
    stage.start(stage.nodes)
    return f"{what} in {count} files of two nodes"


def _flip_bits(file: Path, dice: Random) -> None:
    """One bit for each 64 KiB, at least one."""
    size = file.stat().st_size
    for _ in range(1 + size // _BYTES_FOR_A_BIT if size else 0):
        flip_bit(file, dice.randrange(size))


def _truncate(file: Path, dice: Random) -> None:
    """The file loses up to half of its bytes, from its end; at least one if it has any."""
    size = file.stat().st_size
    with file.open("r+b") as opened:
        opened.truncate(size - dice.randint(min(size, 1), (size + 1) // 2))


def _roles(nodes: Sequence[Node], leader: Node, dice: Random) -> tuple[list[Node], Node, list[Node]]:
    followers = [node for node in nodes if node is not leader]
    dice.shuffle(followers)
    return followers[:2], followers[2], followers[3:]


def _data(node: Node) -> Sequence[Path]:
    return node.data_files()


def _snapshots(node: Node) -> Sequence[Path]:
    return node.snapshot_files()


FAULTS: Mapping[str, Fault] = {
    "power of all": _power_of_all,
    "power of one": _power_of_one,
    "bits of records": partial(_damaged, _data, _flip_bits, "bits flipped"),
    "records truncated": partial(_damaged, _data, _truncate, "ends lost"),
    "bits of snapshots": partial(_damaged, _snapshots, _flip_bits, "bits flipped"),
    "snapshots truncated": partial(_damaged, _snapshots, _truncate, "ends lost"),
}
"""Every fault by its name."""
