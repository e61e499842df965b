"""The contestants, the steps in which they take turns, and the comparisons of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

OURS = "ours"
"""The contestant that runs this checkout."""

BASELINE = "baseline"
"""The contestant that runs another checkout of this project; it takes part with `--baseline` only."""

Measures = Mapping[str, float]
"""The measures of one run of a contestant by name; the unit is part of the name."""

Samples = dict[str, dict[str, list[float]]]
"""The measures of all rounds of one step: contestant -> measure -> one value for each round."""


class Better(Enum):
    """Whether higher or lower values are better."""

    HIGHER = "higher"
    LOWER = "lower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One kind of run, which the contestants do in turn.

    Fields:
        name: unique in its work.
        runs: a function for each contestant, called once in each round, in this order.
    """

    name: str
    runs: Mapping[str, Callable[[], Measures]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A line of the table: a measure of ours, divided by that of a peer.

    Fields:
        title: names the work.
        step, measure: of ours.
        peer: the other contestant.
        peer_step, peer_measure: of the peer; those of ours if None.
        better: whether higher or lower values are better.
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
        """Identifies it among the comparisons of its work."""
        return self.step, self.measure, self.peer


def constant(measures: Measures) -> Callable[[], Measures]:
    """Return a run with fixed measures, for a peer that is a constant."""
    return lambda: measures


def take_turns(
    steps: Sequence[Step], *, rounds: int, warm_up: bool, progress: Callable[[str], None]
) -> dict[str, Samples]:
    """Run all contestants of all steps in each round, so that a slow period of the machine affects all of them.

    Every second round runs the contestants in reverse order: what one leaves to the disk does not always burden the
    same next one.

    Args:
        steps: what to run.
        rounds: how many count.
        warm_up: whether there is a round before them that does not count.
        progress: called with the measures after each run.

    Returns:
        The samples by step.
    """
    samples: dict[str, Samples] = {step.name: {contestant: {} for contestant in step.runs} for step in steps}
    for number in range(0 if warm_up else 1, rounds + 1):
        for step in steps:
            turns = list(step.runs.items())
            for contestant, run in turns if number % 2 else reversed(turns):
                measures = run()
                progress(f"round {number} of {rounds}: {step.name}, {contestant}: {_in_words(measures)}")
                if number > 0:
                    for measure, value in measures.items():
                        samples[step.name][contestant].setdefault(measure, []).append(value)
    return samples


def _in_words(measures: Measures) -> str:
    return ", ".join(f"{value:.4g} {measure}" for measure, value in measures.items())
