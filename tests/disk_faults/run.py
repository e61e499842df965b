"""One run: clients append to five nodes, a fault strikes, and everything that was acknowledged is read again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tests.disk_faults.faults import FAULTS, MORE
from tests.disk_faults.load import Load
from tests.disk_faults.outcome import Outcome
from tests.disk_faults.stage import Stage
from tests.disk_faults.system import System, UnreadableError
from tests.disk_faults.systems import SYSTEMS
from tests.disk_faults.volume import mounted_volumes
from tests.node.harness.waiting import eventually

NODES = 5
_LOADED_S = 300.0
_RECOVERED_S = 60.0
_READ_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a run.

    Fields:
        system: a name of `SYSTEMS`.
        fault: a name of `FAULTS`.
        seed: decides which nodes and bytes the fault strikes.
        values: so many values are acknowledged before it strikes.
    """

    system: str
    fault: str
    seed: int = 1
    values: int = 2_000


def run(plan: Plan, folder: Path, tell: Callable[[str], None]) -> Outcome:
    """Do the run.

    Args:
        plan: the options.
        folder: exists; the output of the nodes stays there, and their volumes.
        tell: gets a line about the fault.
    """
    with mounted_volumes([folder / f"volume-{number}" for number in range(1, NODES + 1)]) as volumes:
        system = SYSTEMS[plan.system](folder, volumes)
        try:
            for node in system.nodes:
                system.start(node)
            system.create()
            return strike(system, plan, tell)
        finally:
            for node in system.nodes:
                node.process.kill()


def strike(system: System, plan: Plan, tell: Callable[[str], None]) -> Outcome:
    """Append, inject the fault, append again, and compare; the nodes run."""
    with Load(system) as load:
        assert load.wait_for(plan.values, within_s=_LOADED_S), "appends are acknowledged before the fault"
        stage = Stage(system, load)
        tell(FAULTS[plan.fault](stage, Random(plan.seed)))
        accepts_appends = load.wait_for(MORE, within_s=_RECOVERED_S)
    return Outcome.of(load.acknowledged, _read(system), accepts_appends=accepts_appends, refused=stage.refused)


def _read(system: System) -> set[bytes] | str:
    """Return what is committed, or why it cannot be read, when that does not change within a minute."""
    reasons = []

    def read() -> set[bytes] | None:
        try:
            return system.values()
        except UnreadableError as error:
            reasons.append(str(error))
            return None

    try:
        return eventually(read, "the log can be read", within_s=_READ_S, every_s=1)
    except AssertionError:
        return reasons[-1] if reasons else "it is empty"
