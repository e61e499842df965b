"""Invariants of damaged logs."""

from __future__ import annotations

from tests.simulation.invariants.observer import Invariant
from tests.simulation.step import Step


class SoundLogHasNoDamage(Invariant):
    """The scrub of a node that runs finds no damage: a log with a flipped bit is scrubbed before the node runs."""

    rules = ("LOG-26",)

    def event_handled(self, step: Step) -> None:
        process = step.machine.process
        if process is not None:
            damage = process.found_damage
            self.require(not damage, "%s: %s", step.machine, damage)
