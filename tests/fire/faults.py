"""The kinds of faults of executors, driver, voters and network; those of the quorums are of `tests.harness.faults`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from random import Random

import psutil

from tests.fire.cluster import WORKERS, family
from tests.fire.stage import PART_BYTES, Stage
from tests.harness.faults import cut_clients, cut_leader, kill_all, kill_leader, stop_leader
from tests.harness.nemesis import Fault
from tests.harness.quorum import Quorum

LONGEST_RECOVERY_S = 180.0
"""The query commits a micro-batch within this time after a fault; it is far more than that takes."""


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
    with stop_leader(stage.sink, dice) as what:
        stage.driver.kill()
        yield f"sink: {what}, and the driver is killed"
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
def _of_quorum(stage: Stage, dice: Random, *, name: str, fault: Fault[Quorum]) -> Iterator[str]:
    with fault(stage.quorum(name), dice) as what:
        yield f"{name}: {what}"


@contextmanager
def _kill_leader_at_part(stage: Stage, dice: Random) -> Iterator[str]:
    stage.driver.wait_for_progress(1, within_s=LONGEST_RECOVERY_S)
    leader_id = stage.sink.leader_id()
    stage.wait_for_append(least_bytes=PART_BYTES)
    stage.sink.nodes[leader_id].kill()
    yield f"sink: node {leader_id}, the leader, is killed"
    stage.sink.start(leader_id)


@contextmanager
def _kill_both_quorums(stage: Stage, dice: Random) -> Iterator[str]:
    with kill_all(stage.source, dice), kill_all(stage.sink, dice):
        yield "all voters of both quorums are killed"


FAULTS: Mapping[str, Fault[Stage]] = {
    "executor killed": partial(_kill_executor, at_part=False),
    "executor killed at a part": partial(_kill_executor, at_part=True),
    "Python processes killed at a part": _kill_python,
    "worker killed": _kill_worker,
    "driver killed": _kill_driver,
    "driver killed at an append": partial(_kill_driver_at_append, least_bytes=1),
    "driver killed at a part": partial(_kill_driver_at_append, least_bytes=PART_BYTES),
    "leader of the sink killed at a part": _kill_leader_at_part,
    "driver killed, sink's leader suspended": _kill_driver_at_suspended_leader,
    "all voters of both quorums killed": _kill_both_quorums,
    "driver suspended": _suspend_driver,
    "executor suspended": _suspend_executor,
    **{
        kind.format(name): partial(_of_quorum, name=name, fault=fault)
        for kind, fault in {
            "leader of the {} killed": kill_leader,
            "all voters of the {} killed": kill_all,
            "leader of the {} suspended": stop_leader,
            "leader of the {} cut off": cut_leader,
            "clients cut off from the {}'s leader": cut_clients,
        }.items()
        for name in ("source", "sink")
    },
}
"""Every kind of fault by its name."""
