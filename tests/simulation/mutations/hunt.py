"""The search for a planted bug: one seed after the other, until an invariant breaks."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import pytest

from tests.simulation import world
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.committed_log import CommittedLog
from tests.simulation.drawing import draw_plan
from tests.simulation.fixed_seeds import DAMAGED_SEEDS, DENSER_SEEDS, OVERLAPPING_SEEDS, RARE_SEEDS
from tests.simulation.invariants.catalogue import all_invariants
from tests.simulation.invariants.observer import Invariant
from tests.simulation.machine import Machine
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.seeds import CATCHING_SEEDS
from tests.simulation.mutations.table import Row
from tests.simulation.plan import Plan
from tests.simulation.run import simulate

HUNTED_SEEDS = (
    *range(200),
    *(seed for seed in RARE_SEEDS if seed >= 200),
    *OVERLAPPING_SEEDS,
    *DAMAGED_SEEDS,
    *DENSER_SEEDS,
)
"""The seeds that are tried for each bug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Catch:
    """A planted bug that was caught, with the invariant and the seed."""

    mutation: Mutation
    seed: int
    broken: BrokenInvariantError

    @property
    def row(self) -> Row:
        """The row of the bug in the table."""
        return self.mutation.name, self.broken.invariant, self.seed

    @property
    def is_by_expected_invariant(self) -> bool:
        """Whether one of the expected invariants broke."""
        return self.broken.invariant in self.mutation.caught_by


def hunt(mutation: Mutation, seeds: Iterable[int], *, without: Collection[type[Invariant]] = ()) -> Catch | None:
    """Plant a bug and return the first broken invariant; None if no seed breaks one.

    Args:
        mutation: the bug.
        seeds: those whose plans can reach the bug are tried in this order, but the one of `CATCHING_SEEDS` first.
        without: invariants that are not checked.
    """

    def remaining_invariants(plan: Plan, machines: Sequence[Machine], committed: CommittedLog) -> list[Invariant]:
        return [each for each in all_invariants(plan, machines, committed) if type(each) not in without]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "all_invariants", remaining_invariants)
        # The core's own checks would find many bugs before the invariants do.
        patch.setattr("raft.core.machine.check_invariants", lambda _state, **_before: None)
        mutation.plant(patch)
        for seed in _likely_first(mutation, seeds):
            broken = simulate(seed).broken
            if broken is not None:
                return Catch(mutation=mutation, seed=seed, broken=broken)
    return None


def _likely_first(mutation: Mutation, seeds: Iterable[int]) -> list[int]:
    """Return the seeds whose plans can reach a bug. Most hunts end with the first one, which caught it before."""
    likely = CATCHING_SEEDS.get(mutation.name)
    return sorted((seed for seed in seeds if mutation.needs(draw_plan(seed))), key=lambda seed: seed != likely)
