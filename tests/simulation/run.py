"""One run: a seed in, what came of it out."""

from __future__ import annotations

import traceback
from collections import Counter
from dataclasses import dataclass

from raft.errors import RaftError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.drawing import draw_plan
from tests.simulation.faults.kinds import Fault
from tests.simulation.marks import Mark, Moment
from tests.simulation.plan import Plan
from tests.simulation.recovery_phase import RecoveryPhase
from tests.simulation.world import World

LAST_LINES = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a run.

    Fields:
        events: how many things happened, in `virtual_ms`.
        committed_records: how many records were committed.
        marks: what was seen, and how often.
        strikes: which faults struck, and how often.
        moments: in the middle of what, and how often.
        fingerprint: of all that happened.
        rest_percent: how much of the time allowed the quorum needed at most to recover.
        broken: the invariant that broke, if any.
        story: the last lines of what happened.
    """

    seed: int
    events: int
    virtual_ms: int
    committed_records: int
    marks: Counter[Mark]
    strikes: Counter[Fault]
    moments: Counter[Moment]
    fingerprint: int
    rest_percent: int
    broken: BrokenInvariantError | None
    story: tuple[str, ...]

    def __str__(self) -> str:
        end = f"BROKEN: {self.broken}" if self.broken else f"fine, trace {self.fingerprint:08x}"
        return (
            f"seed {self.seed}: {self.events} events in {self.virtual_ms} ms, {self.marks[Mark.LEADER_ELECTED]} "
            f"elections, {self.committed_records} records committed: {end}"
        )


def simulate(
    seed: int,
    *,
    max_events: int | None = None,
    remembered_lines: int = LAST_LINES,
) -> Outcome:
    """Run a seed to its end, or to the first broken invariant; see `carry_out`."""
    return carry_out(draw_plan(seed), max_events=max_events, remembered_lines=remembered_lines)


def carry_out(
    plan: Plan,
    *,
    max_events: int | None = None,
    remembered_lines: int = LAST_LINES,
) -> Outcome:
    """Run a plan to its end, or to the first broken invariant.

    Args:
        plan: decides everything.
        max_events: when to end the time of unrest at the latest; None leaves it to the plan.
        remembered_lines: how many of the last lines of its story to keep.
    """
    world = World(plan, remembered_lines=remembered_lines)
    recovery_phase = RecoveryPhase(world)
    broken: BrokenInvariantError | None = None
    try:
        world.begin()
        world.timeline.run(plan.unrest_ms, max_steps=max_events or plan.unrest_events)
        recovery_phase.run()
    except BrokenInvariantError as error:
        broken = error
    except (AssertionError, RaftError, LookupError, TypeError, ValueError) as error:
        # Nothing that this world does to them may be more than core and storage can take.
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
        moments=world.marks.moments,
        fingerprint=world.fingerprint.value,
        rest_percent=recovery_phase.most_percent,
        broken=broken,
        # In words only where somebody will read them.
        story=tuple(world.story.lines()) if broken or remembered_lines > LAST_LINES else (),
    )
