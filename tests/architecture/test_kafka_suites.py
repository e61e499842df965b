"""The table of the scenarios of Spark's Kafka suites is complete and up to date."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.kafka_suites import MARKER, SCENARIOS, Scenario, Table, read_scenarios
from scripts.rule_citations import ROOT, Proof
from scripts.suite_outcomes import Outcomes

PROOF = Proof("tests/spark/test_a.py", "stream_does_it")
SOUND = Table(
    scenarios={
        1: Scenario(name="one", suites="A"),
        2: Scenario(name="two", suites="A, B", partly="but for this"),
        3: Scenario(name="three", suites="B", impossible="why not"),
    },
    proofs={1: {PROOF}, 2: {PROOF}},
)


def test_document_says_what_the_tests_prove() -> None:
    command = [sys.executable, "-m", "scripts.kafka_suites", "--check"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_scenarios_are_numbered_from_1_to_45() -> None:
    assert [*read_scenarios(SCENARIOS.read_text())] == list(range(1, 46))


def test_table_finds_nothing_wrong_when_each_scenario_has_a_test_or_a_reason() -> None:
    assert list(SOUND.problems()) == []


@pytest.mark.parametrize(
    ("unsound", "problem"),
    [
        pytest.param(
            replace(SOUND, proofs={**SOUND.proofs, 9: {PROOF}}),
            "9 is cited by tests/spark/test_a.py, but is not a scenario",
            id="no scenario",
        ),
        pytest.param(replace(SOUND, proofs={1: {PROOF}}), "2 has neither a test nor a reason in ", id="no test"),
        pytest.param(
            replace(SOUND, proofs={**SOUND.proofs, 3: {PROOF}}),
            "3 has a test, so the reason why it has none is out of date",
            id="an old reason",
        ),
    ],
)
def test_table_names_what_is_wrong(unsound: Table, problem: str) -> None:
    (found,) = unsound.problems()

    assert found.startswith(problem)


def test_document_has_tests_and_reasons() -> None:
    document = SOUND.document()

    assert "3 scenarios: 1 proven, 1 proven in part, 1 impossible." in document
    assert "| 1 | one | A | [stream does it](../tests/spark/test_a.py) |" in document
    assert "- **2**, two: but for this." in document
    assert "- **3**, three: why not." in document


@pytest.mark.parametrize(
    ("scenario", "passed", "failed", "line"),
    [
        (1, 1, [], "proven (1 test)"),
        (1, 2, [], "proven (2 tests)"),
        (2, 2, [], "proven (2 tests), but: but for this"),
        (2, 2, ["test_a", "test_b"], "FAILED: test_a, test_b"),
        (1, 0, [], "NOT PROVEN: no test was run"),
        (3, 0, [], "impossible: why not"),
    ],
)
def test_run_says_in_a_line_what_it_has_shown(scenario: int, passed: int, failed: list[str], line: str) -> None:
    assert SOUND.scenarios[scenario].outcome(passed, failed) == line


def test_outcomes_count_tests_that_ran_to_their_end() -> None:
    outcomes, session, report = Outcomes(MARKER), SimpleNamespace(items=[]), SimpleNamespace
    for nodeid, numbers in (("a.py::test_a", (1, 2)), ("a.py::test_b", (2,)), ("a.py::test_c", (3,))):
        marks = [pytest.Mark(MARKER, numbers, {}, _ispytest=True)]
        session.items.append(SimpleNamespace(nodeid=nodeid, iter_markers=lambda _name, marks=marks: marks))
    outcomes.pytest_collection_finish(_any(session))

    for nodeid, when, outcome in (
        ("a.py::test_a", "call", "passed"),
        ("a.py::test_b", "call", "passed"),
        ("a.py::test_b", "teardown", "failed"),
        ("a.py::test_c", "setup", "passed"),
        ("a.py::test_c", "call", "skipped"),
        ("a.py::test_without_a_mark", "call", "failed"),
    ):
        is_passed, is_failed = outcome == "passed", outcome == "failed"
        outcomes.pytest_runtest_logreport(_any(report(nodeid=nodeid, when=when, passed=is_passed, failed=is_failed)))

    assert [outcomes.of(number) for number in (1, 2, 3)] == [(1, []), (1, ["test_b"]), (0, [])]


def _any(stand_in: object) -> Any:
    return stand_in
