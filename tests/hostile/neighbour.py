"""The process of the attacker, for the run that starts it."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from tests.hostile.attacker import BEGINS
from tests.hostile.connection import CLOSED_WITHIN_S
from tests.hostile.scene import Scene
from tests.hostile.tally import Tally
from tests.processes.piped_process import PipedProcess

_LONGEST_END_S = 120.0


class Neighbour(PipedProcess):
    """One run of the attacker; its process ends with the block.

    Args:
        scene: the attacked quorum.
        seed: decides what it sends.
        duration_s: how long it attacks.
        attacks: names of the attacks to run; empty for all.
    """

    def __init__(self, scene: Scene, *, seed: int, duration_s: float, attacks: Sequence[str] = ()) -> None:
        command = [sys.executable, "-m", "tests.hostile.attacker", scene.to_json(), str(seed), str(duration_s)]
        super().__init__("the attacker", [*command, *([",".join(attacks)] if attacks else [])])
        self._longest_s = duration_s + CLOSED_WITHIN_S + _LONGEST_END_S

    def wait_until_it_begins(self) -> None:
        """Wait until the attack begins.

        Raises:
            AssertionError: it ended before.
        """
        self.wait_until_it_says(BEGINS, within_s=_LONGEST_END_S)

    def tally(self) -> Tally:
        """Wait until it ends; return what it did.

        Raises:
            AssertionError: it failed.
        """
        printed = self.rest_of_output(within_s=self._longest_s)
        exit_code = self.wait()
        assert exit_code == 0, f"the attacker ended with {exit_code}: {printed}{self.errors}"
        return Tally.from_json(printed)
