"""The result of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tests.workload.verdict import Verdict

Figures = TypeVar("Figures", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[Figures]):
    """The result of a run.

    Fields:
        figures: what it did; its text is printed.
        verdict: what is wrong.
    """

    figures: Figures
    verdict: Verdict
