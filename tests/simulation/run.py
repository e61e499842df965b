"""One run of the simulator: from a seed to its outcome."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass

from raft.errors import RaftError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.drawing import draw_plan
from tests.simulation.faults.kinds import Fault
from tests.simulation.marks import Interruption, Mark
from tests.simulation.plan import Plan
from tests.simulation.recovery_phase import RecoveryPhase
from tests.simulation.security.remembered_keys import remembered_keys
from tests.simulation.world import World

LAST_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of a run.

    Fields:
        events: the number of actions on the timeline, within `virtual_ms`.
        committed_records: the number of committed records.
        marks: how often each coverage mark was reached.
        strikes: how often each fault struck.
        interruptions: how often a node was interrupted at each point of its work.
        fingerprint: see `Fingerprint`.
        recovery_percent: the longest time that the quorum took to recover, in percent of the time allowed.
        broken: the first broken invariant; None if all held.
        log_lines: the last lines of the log of the run.
    """

    seed: int
    events: int
    virtual_ms: int
    committed_records: int
    marks: Counter[Mark]
    strikes: Counter[Fault]
    interruptions: Counter[Interruption]
    fingerprint: int
    recovery_percent: int
    broken: BrokenInvariantError | None
    log_lines: tuple[str, ...]

    def __str__(self) -> str:
        end = f"BROKEN: {self.broken}" if self.broken else f"ok, trace {self.fingerprint:08x}"
        return (
            f"seed {self.seed}: {self.events} events in {self.virtual_ms} ms, {self.marks[Mark.LEADER_ELECTED]} "
            f"elections, {self.committed_records} records committed: {end}"
        )


def simulate(
    seed: int,
    *,
    max_events: int | None = None,
    max_log_lines: int = LAST_LINES,
) -> Outcome:
    """Run a seed to its end, or to the first broken invariant; see `carry_out`."""
    return carry_out(draw_plan(seed), max_events=max_events, max_log_lines=max_log_lines)


def carry_out(
    plan: Plan,
    *,
    max_events: int | None = None,
    max_log_lines: int = LAST_LINES,
) -> Outcome:
    """Run a plan to its end, or to the first broken invariant.

    Args:
        plan: the plan of the run.
        max_events: the fault phase ends after so many events at the latest; None leaves it to the plan.
        max_log_lines: how many of the last lines of its log to keep.
    """
    world = World(plan, max_log_lines=max_log_lines)
    recovery_phase = RecoveryPhase(world)
    broken: BrokenInvariantError | None = None
    try:
        with remembered_keys():
            world.begin()
            world.timeline.run(plan.fault_phase_ms, max_steps=max_events or plan.fault_phase_events)
            recovery_phase.run()
    except BrokenInvariantError as error:
        broken = error
    except (AssertionError, RaftError, LookupError, TypeError, ValueError) as error:
        # Core and storage have to handle every fault of this world, so any other error is a bug.
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__} at {place.filename}:{place.lineno}: {error}"
        broken = BrokenInvariantError("NoUnexpectedErrors", ("ERROR-9", "LOG-17"), detail)
    return Outcome(
        seed=plan.seed,
        events=world.timeline.steps,
        virtual_ms=world.timeline.now_ms,
        committed_records=world.committed.end_offset,
        marks=world.marks.counts,
        strikes=world.marks.strikes,
        interruptions=world.marks.interruptions,
        fingerprint=world.fingerprint.value,
        recovery_percent=recovery_phase.max_percent,
        broken=broken,
        # The lines are formatted only where they will be printed.
        log_lines=tuple(world.run_log.lines()) if broken or max_log_lines > LAST_LINES else (),
    )
