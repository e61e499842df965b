"""What a command works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.transcript import Transcript
from tests.scenarios.harness.world import World


@dataclass(slots=True)
class Stage:
    """The present world, which the command `quorum` replaces by a new one, and what is printed of it."""

    transcript: Transcript
    world: World = field(init=False)

    def __post_init__(self) -> None:
        self.world = World(self.transcript)


Handler = Callable[[Stage, Arguments], None]
"""Carries out one command."""
