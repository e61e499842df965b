"""A bug that is planted in the core or in the storage, to see whether the simulator finds it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

Plant = Callable[[pytest.MonkeyPatch], None]
"""Replaces functions of `raft` by wrong ones, until the patch is undone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutation:
    """One bug.

    Fields:
        name: the bug in a few words.
        story: what goes wrong, in a sentence or two.
        breaks: the rules that it breaks.
        caught_by: the invariants of which one has to find it.
        plant: puts it in.
    """

    name: str
    story: str
    breaks: tuple[str, ...]
    caught_by: frozenset[str]
    plant: Plant


def mutation(*, breaks: tuple[str, ...], caught_by: tuple[str, ...]) -> Callable[[Plant], Mutation]:
    """Make a mutation of a function that plants it; name and story are the function's."""

    def make(plant: Plant) -> Mutation:
        assert plant.__doc__, f"{plant.__name__} tells no story"
        return Mutation(
            name=plant.__name__.replace("_", " "),
            story=plant.__doc__,
            breaks=breaks,
            caught_by=frozenset(caught_by),
            plant=plant,
        )

    return make


@contextmanager
def switched_off(owner: type, method: str) -> Iterator[None]:
    """Let a method do nothing for a while."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, method, lambda *_arguments: None)
        yield
