"""The results of a run: its lines, what is missing and why, and the samples of the lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from benchmarks.contest import Better, Comparison, Samples
from benchmarks.ratios import Line, line_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The results of a run by work.

    Fields:
        conditions: of the run, by name.
        lines: the comparisons.
        missing: why lines are missing, by work.
        failed: the errors that ended works, by work.
        samples: the measures, by work and step.
    """

    conditions: dict[str, str]
    lines: list[Line] = field(default_factory=list)
    missing: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    samples: dict[str, dict[str, Samples]] = field(default_factory=dict)

    def add(
        self, work: str, comparisons: Sequence[Comparison], samples: dict[str, Samples], missing: Sequence[str]
    ) -> None:
        """Add the measures of a work.

        Args:
            work: its name.
            comparisons: the lines of the work.
            samples: by step.
            missing: why peers are missing.
        """
        made = [line_of(comparison, samples) for comparison in comparisons]
        self.lines.extend(line for line in made if line is not None)
        absent = [
            f"{comparison.title}, beside {comparison.peer}"
            for comparison, line in zip(comparisons, made, strict=True)
            if line is None
        ]
        if absent:
            self.missing[work] = [
                *(f"left out: {words}" for words in absent),
                *(f"because {reason}" for reason in missing),
            ]
        self.samples[work] = samples

    def as_json(self) -> str:
        """Return the report as JSON."""
        return json.dumps(asdict(self), indent=1, default=_plain) + "\n"


def _plain(value: object) -> str:
    assert isinstance(value, Better), f"{value!r} is not a part of a report"
    return value.value
