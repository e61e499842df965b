"""The context of a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.scenarios.harness.arguments import Arguments
from tests.scenarios.harness.errors import ScenarioError
from tests.scenarios.harness.transcript import Transcript
from tests.scenarios.harness.world import ScenarioWorld


@dataclass(slots=True)
class CommandContext:
    """The current world, which the command `quorum` replaces, and the transcript."""

    transcript: Transcript
    current: ScenarioWorld | None = None

    @property
    def world(self) -> ScenarioWorld:
        """The current world.

        Raises:
            ScenarioError: there is none yet.
        """
        if self.current is None:
            raise ScenarioError("the command `quorum` comes first")
        return self.current


Handler = Callable[[CommandContext, Arguments], None]
"""Carries out one command."""
