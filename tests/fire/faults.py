"""Faults of executors, driver, voters and network; each is a context manager that ends the fault at its end.

It yields a sentence about what it did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from random import Random

import psutil

from tests.fire.cluster import WORKERS, family
from tests.fire.stage import PART_BYTES, Stage
from tests.network.connection import Direction
from tests.network.network import CLIENTS
from tests.soak.quorum import Quorum

LONGEST_RECOVERY_S = 180.0
"""The query commits a micro-batch within this time after a fault; it is far more than that takes."""

Fault = Callable[[Stage, Random], AbstractContextManager[str]]


@contextmanager
def _kill_executor(stage: Stage, dice: Random, *, at_part: bool) -> Iterator[str]:
    """The cluster starts another one by itself."""
    if at_part:
        stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
    stage.driver.start()
    executor = dice.choice(stage.cluster.executors())
    victims = family(executor)
    if at_part:
        stage.wait_for_append(least_bytes=PART_BYTES)
    _kill(victims)
    yield f"executor {executor.pid} is killed with its Python processes"


@contextmanager
def _kill_python(stage: Stage, dice: Random) -> Iterator[str]:
    """Tasks fail, and Spark repeats them."""
    stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
    victims = stage.cluster.python_processes()
    stage.wait_for_append(least_bytes=PART_BYTES)
    _kill(victims)
    yield f"all {len(victims)} Python processes of the executors are killed"


@contextmanager
def _kill_worker(stage: Stage, dice: Random) -> Iterator[str]:
    at = dice.randrange(WORKERS)
    stage.cluster.kill_worker(at)
    yield f"worker {at} is killed with its executors"
    stage.cluster.restart_worker(at)


@contextmanager
def _kill_driver(stage: Stage, dice: Random) -> Iterator[str]:
    stage.driver.kill()
    yield "the driver is killed"
    stage.driver.start()


@contextmanager
def _kill_driver_at_append(stage: Stage, dice: Random, *, least_bytes: int) -> Iterator[str]:
    """The responses to appends, its own or those of its executors, are on their way then."""
    stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
    victims = stage.driver.processes()
    stage.wait_for_append(least_bytes=least_bytes)
    stage.driver.kill(victims)
    yield "the driver is killed as the leader of the sink writes an append"
    stage.driver.start()


@contextmanager
def _kill_driver_at_suspended_leader(stage: Stage, dice: Random) -> Iterator[str]:
    """An append of the driver may be in the socket of the leader that was suspended, and the next one repeats it."""
    with _suspend_leader(stage, dice, name="sink") as what:
        stage.driver.kill()
        yield f"{what}, and the driver is killed"
        stage.driver.start()


@contextmanager
def _suspend_driver(stage: Stage, dice: Random) -> Iterator[str]:
    with _suspended(stage.driver.processes()):
        yield "the driver is suspended with its JVM and its Python processes"


@contextmanager
def _suspend_executor(stage: Stage, dice: Random) -> Iterator[str]:
    stage.driver.start()
    executor = dice.choice(stage.cluster.executors())
    with _suspended(family(executor)):
        yield f"executor {executor.pid} is suspended with its Python processes"


def _kill(processes: Iterable[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()


@contextmanager
def _suspended(processes: Sequence[psutil.Process]) -> Iterator[None]:
    with ExitStack() as stack:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                stack.callback(_resume, process)
        yield


def _resume(process: psutil.Process) -> None:
    with suppress(psutil.NoSuchProcess):
        process.resume()


@contextmanager
def _kill_leader(stage: Stage, dice: Random, *, name: str, at_part: bool = False) -> Iterator[str]:
    if at_part:
        stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
    quorum = stage.quorum(name)
    leader_id = quorum.leader_id()
    if at_part:
        stage.wait_for_append(least_bytes=PART_BYTES)
    quorum.nodes[leader_id].kill()
    yield f"node {leader_id} of the {name}, its leader, is killed"
    quorum.start(leader_id)


@contextmanager
def _kill_voters(stage: Stage, dice: Random, *, name: str) -> Iterator[str]:
    quorum = stage.quorum(name)
    quorum.kill()
    yield f"all voters of the {name} are killed"
    quorum.start()


@contextmanager
def _kill_both_quorums(stage: Stage, dice: Random) -> Iterator[str]:
    with _kill_voters(stage, dice, name="source"), _kill_voters(stage, dice, name="sink"):
        yield "all voters of both quorums are killed"


@contextmanager
def _suspend_leader(stage: Stage, dice: Random, *, name: str) -> Iterator[str]:
    quorum = stage.quorum(name)
    leader_id = quorum.leader_id()
    quorum.nodes[leader_id].suspend()
    try:
        yield f"node {leader_id} of the {name}, its leader, is suspended"
    finally:
        quorum.nodes[leader_id].resume()


def _cut_leader(stage: Stage, dice: Random, *, name: str) -> AbstractContextManager[str]:
    """Clients still reach the leader."""
    quorum = stage.quorum(name)
    leader_id = quorum.leader_id()
    what = f"node {leader_id} of the {name}, its leader, is cut off from the other voters"
    return _cut(quorum, dice, leader_id, quorum.followers_of(leader_id), what)


def _cut_clients(stage: Stage, dice: Random, *, name: str) -> AbstractContextManager[str]:
    """The other voters still reach the leader, so it goes on to lead."""
    quorum = stage.quorum(name)
    leader_id = quorum.leader_id()
    what = f"driver and executors are cut off from node {leader_id} of the {name}, its leader"
    return _cut(quorum, dice, leader_id, [CLIENTS], what)


@contextmanager
def _cut(quorum: Quorum, dice: Random, node_id: int, others: Sequence[int], what: str) -> Iterator[str]:
    directions: set[Direction] = {each for other in others for each in ((node_id, other), (other, node_id))}
    delivers_late = dice.random() < 0.5
    quorum.network.cut(directions)
    try:
        yield f"{what}; {'bytes held back are delivered late' if delivers_late else 'connections are reset at its end'}"
    finally:
        quorum.network.heal(directions, delivers_late=delivers_late)


FAULTS: Mapping[str, Fault] = {
    "executor killed": partial(_kill_executor, at_part=False),
    "executor killed at a part": partial(_kill_executor, at_part=True),
    "Python processes killed at a part": _kill_python,
    "worker killed": _kill_worker,
    "driver killed": _kill_driver,
    "driver killed at an append": partial(_kill_driver_at_append, least_bytes=1),
    "driver killed at a part": partial(_kill_driver_at_append, least_bytes=PART_BYTES),
    "leader of the sink killed at a part": partial(_kill_leader, name="sink", at_part=True),
    "driver killed, sink's leader suspended": _kill_driver_at_suspended_leader,
    "all voters of both quorums killed": _kill_both_quorums,
    "driver suspended": _suspend_driver,
    "executor suspended": _suspend_executor,
    **{
        fault.format(name): partial(strike, name=name)
        for fault, strike in {
            "leader of the {} killed": _kill_leader,
            "all voters of the {} killed": _kill_voters,
            "leader of the {} suspended": _suspend_leader,
            "leader of the {} cut off": _cut_leader,
            "clients cut off from the {}'s leader": _cut_clients,
        }.items()
        for name in ("source", "sink")
    },
}
"""Every kind of fault by its name."""
