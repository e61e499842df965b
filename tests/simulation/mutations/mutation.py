"""A planted bug: a known bug that a test puts into the product, to prove that the simulator finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.simulation.mutations.needs import nothing
from tests.simulation.plan import Plan

Plant = Callable[[pytest.MonkeyPatch], None]
"""Replaces functions of `raft` by wrong ones, until the patch is undone."""

Need = Callable[[Plan], bool]
"""See `tests.simulation.mutations.needs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One bug.

    Fields:
        name: the bug in a few words; key of `CATCHING_SEEDS`.
        description: what the product does wrong.
        breaks: the ids of the rules that it breaks.
        caught_by: the names of the invariants, one of which must break.
        plant: patches the product.
        needs: whether a run of a plan can reach it.
    """

    name: str
    description: str
    breaks: tuple[str, ...]
    caught_by: frozenset[str]
    plant: Plant
    needs: Need


def mutation(
    *, breaks: tuple[str, ...], caught_by: tuple[str, ...], needs: Need = nothing
) -> Callable[[Plant], Mutation]:
    """Make a mutation of a function that plants it. The function's name and docstring become name and description."""

    def make(plant: Plant) -> Mutation:
        assert plant.__doc__, f"{plant.__name__} has no docstring"
        return Mutation(
            name=plant.__name__.replace("_", " "),
            description=plant.__doc__,
            breaks=breaks,
            caught_by=frozenset(caught_by),
            plant=plant,
            needs=needs,
        )

    return make


@contextmanager
def switched_off(owner: type, method: str) -> Iterator[None]:
    """Make a method do nothing within the `with` block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, lambda *_arguments: None)
        yield
