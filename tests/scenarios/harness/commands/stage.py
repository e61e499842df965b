"""What a command works on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.transcript import Transcript
from tests.scenarios.harness.world import ScenarioWorld


@dataclass(slots=True)
class Stage:
    """The present world, which the command `quorum` replaces by a new one, and what is printed of it."""

    transcript: Transcript
    made: ScenarioWorld | None = None

    @property
    def world(self) -> ScenarioWorld:
        """The present world.

        Raises:
            ScenarioError: there is none yet.
        """
        if self.made is None:
            raise ScenarioError("the command `quorum` comes first")
        return self.made


Handler = Callable[[Stage, Arguments], None]
"""Carries out one command."""
