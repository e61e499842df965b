"""What is measured beside what: contestants, the steps in which they take turns, and the lines of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

OURS = "ours"
"""The contestant that runs this checkout."""

BASELINE = "baseline"
"""The contestant that runs another checkout of this project; there only with `--baseline`."""

Measures = Mapping[str, float]
"""What one run of a contestant measured, by name; the unit is part of the name."""

Samples = dict[str, dict[str, list[float]]]
"""The measures of all rounds of one step: contestant -> measure -> one value a round."""


class Better(Enum):
    """Which way a measure gets better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One kind of run, made by each contestant in turn.

    Fields:
        name: unique in its work.
        runs: by contestant; called once a round, in this order.
    """

    name: str
    runs: Mapping[str, Callable[[], Measures]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A line of the table: a measure of ours, divided by a peer's.

    Fields:
        title: the work, in words.
        step, measure: what of ours.
        peer: the other contestant.
        peer_step, peer_measure: what of the peer's; the same as of ours unless said.
        better: which way the measure gets better.
        at_least, aim: bounds of the median ratio, lower ones if higher is better, else upper ones; None for no bound.
    """

    title: str
    step: str
    measure: str
    peer: str
    peer_step: str | None = None
    peer_measure: str | None = None
    better: Better = Better.HIGHER
    at_least: float | None = None
    aim: float | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells it from all others of its work."""
        return self.step, self.measure, self.peer


def constant(measures: Measures) -> Callable[[], Measures]:
    """Return a run that measures nothing: for a peer that is a fixed value."""
    return lambda: measures


def take_turns(
    steps: Sequence[Step], *, rounds: int, warm_up: bool, progress: Callable[[str], None]
) -> dict[str, Samples]:
    """Run all contestants of all steps, round after round, so that a slow moment of the machine meets all of them.

    Args:
        steps: what to run.
        rounds: how many count.
        warm_up: whether one round goes before those that does not count.
        progress: called with what was measured, after each run.

    Returns:
        The samples by step.
    """
    samples: dict[str, Samples] = {step.name: {contestant: {} for contestant in step.runs} for step in steps}
    for number in range(0 if warm_up else 1, rounds + 1):
        for step in steps:
            for contestant, run in step.runs.items():
                measures = run()
                progress(f"round {number} of {rounds}: {step.name}, {contestant}: {_in_words(measures)}")
                if number > 0:
                    for measure, value in measures.items():
                        samples[step.name][contestant].setdefault(measure, []).append(value)
    return samples


def _in_words(measures: Measures) -> str:
    return ", ".join(f"{value:.4g} {measure}" for measure, value in measures.items())
