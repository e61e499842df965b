"""Writes docs/kafka-suites.md: the scenarios of the test suites of Spark's Kafka connector, and the tests that prove
them here.

python -m scripts.kafka_suites            writes the document
python -m scripts.kafka_suites --check    writes nothing; the exit code is 1 if it is out of date, a scenario has
                                          neither test nor reason, or a test cites a scenario that does not exist
python -m scripts.kafka_suites --run      runs the tests and prints one line for each scenario; the exit code is 1 if a
                                          scenario is not proven and has no reason

Tests cite scenarios by `@pytest.mark.kafka_suite(11)`. Names and reasons are in scripts/kafka_suites.toml.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from scripts.rule_citations import ROOT, Proof, citing_files, collect_proofs
from scripts.suite_outcomes import Outcomes

SCENARIOS = ROOT / "scripts" / "kafka_suites.toml"
DOCUMENT = ROOT / "docs" / "kafka-suites.md"
MARKER = "kafka_suite"

_HEAD = """\
# The scenarios of Spark's Kafka suites

What the test suites of Spark's own Kafka connector check, and the tests that check it here. Made by
`python -m scripts.kafka_suites` from [kafka_suites.toml](../scripts/kafka_suites.toml) and the marks of the tests;
`make scenarios` runs them. Where a suite writes to topics and partitions, a test here writes to the one log of a
quorum.
""".splitlines()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario that a peer of Spark's Kafka connector has to pass.

    Fields:
        name: in a few words.
        suites: the suites that have it.
        impossible: why it cannot be proven here; None if tests prove it.
        partly: which part the tests do not prove, and why; None if they prove all of it.
    """

    name: str
    suites: str
    impossible: str | None = None
    partly: str | None = None

    def outcome(self, passed: int, failed: Sequence[str]) -> str:
        """Say in one line what a run of the tests has shown.

        Args:
            passed: how many tests have passed.
            failed: those that have not.
        """
        if failed:
            return f"FAILED: {', '.join(failed)}"
        if self.impossible is not None:
            return f"impossible: {self.impossible}"
        if not passed:
            return "NOT PROVEN: no test was run"
        proven = f"proven ({passed} test{'s' if passed > 1 else ''})"
        return f"{proven}, but: {self.partly}" if self.partly is not None else proven


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """All scenarios by their numbers, and the tests that cite them."""

    scenarios: Mapping[int, Scenario]
    proofs: Mapping[int, set[Proof]]

    def problems(self) -> Iterator[str]:
        """Yield what is wrong with the citations and the reasons."""
        for number in sorted({*self.proofs} - {*self.scenarios}):
            yield f"{number} is cited by {min(self.proofs[number]).path}, but is not a scenario"
        for number, scenario in self.scenarios.items():
            if number not in self.proofs and scenario.impossible is None:
                yield f"{number} has neither a test nor a reason in {SCENARIOS.relative_to(ROOT)}"
            if number in self.proofs and scenario.impossible is not None:
                yield f"{number} has a test, so the reason why it has none is out of date"

    def document(self) -> str:
        """Return the document."""
        return "\n".join(
            [
                *_HEAD,
                self._count(),
                "",
                "| # | scenario | suite | tests |",
                "|---|---|---|---|",
                *(f"| {number} | {one.name} | {one.suites} | {self._tests(number)} |" for number, one in self._rows()),
                "",
                "## Proven in part",
                "",
                *(f"- **{number}**, {one.name}: {one.partly}." for number, one in self._rows() if one.partly),
                "",
                "## Impossible",
                "",
                *(f"- **{number}**, {one.name}: {one.impossible}." for number, one in self._rows() if one.impossible),
                "",
            ]
        )

    def _count(self) -> str:
        impossible = sum(one.impossible is not None for _, one in self._rows())
        partly = sum(one.partly is not None for _, one in self._rows())
        proven = len(self.scenarios) - impossible - partly
        return f"{len(self.scenarios)} scenarios: {proven} proven, {partly} proven in part, {impossible} impossible."

    def _rows(self) -> Iterator[tuple[int, Scenario]]:
        yield from self.scenarios.items()

    def _tests(self, number: int) -> str:
        return ", ".join(map(str, sorted(self.proofs.get(number, ())))) or "none: see below"


def read_scenarios(text: str) -> dict[int, Scenario]:
    """Return the scenarios by their numbers."""
    found: list[dict[str, Any]] = tomllib.loads(text)["scenario"]
    return {each.pop("number"): Scenario(**each) for each in found}


def table() -> Table:
    """Read the scenarios, and collect the tests that cite them."""
    return Table(scenarios=read_scenarios(SCENARIOS.read_text()), proofs=collect_proofs(MARKER))


def run(arguments: Sequence[str]) -> int:
    """Run the tests that cite a scenario, and print what they have shown of each.

    Args:
        arguments: more of them for pytest.
    """
    scenarios, outcomes = read_scenarios(SCENARIOS.read_text()), Outcomes(MARKER)
    exit_code = pytest.main(["-q", "-m", MARKER, *arguments, *citing_files(MARKER)], plugins=[outcomes])
    is_proven = True
    for number, scenario in scenarios.items():
        passed, failed = outcomes.of(number)
        line = scenario.outcome(passed, failed)
        is_proven &= line.startswith(("proven", "impossible"))
        print(f"{number:2} {scenario.name}: {line}")
    return 0 if is_proven and exit_code == pytest.ExitCode.OK else 1


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.kafka_suites", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if there is a problem")
    parser.add_argument("--run", action="store_true", help="run the tests; further arguments go to pytest")
    parsed, others = parser.parse_known_args(arguments)
    if parsed.run:
        return run(others)
    found = table()
    problems = list(found.problems())
    if not parsed.check:
        DOCUMENT.write_text(found.document())
    elif not DOCUMENT.exists() or DOCUMENT.read_text() != found.document():
        problems.append(f"{DOCUMENT.relative_to(ROOT)} is out of date: run `python -m scripts.kafka_suites`")
    print("\n".join(problems) or f"{len(found.scenarios)} scenarios, each with a test or a reason")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
