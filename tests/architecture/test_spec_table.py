"""The table of rules and tests is up to date, and nothing is wrong with the marks and reasons that it is made of."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.rule_citations import ROOT, Proof, read_rules
from scripts.spec_table import Specification

PROOF = Proof("tests/core/test_a.py", "leader_does_it")

SOUND = Specification(
    rules={"A-1": "proven", "A-2": "proven in part", "A-3": "not proven"},
    proofs={"A-1": {PROOF}, "A-2": {PROOF}},
    modules={"A-1": ["raft.core.machine"]},
    missing={"A-3": "why not"},
    partly={"A-2": "but for this"},
)


def test_document_says_what_the_tests_prove() -> None:
    command = [sys.executable, "-m", "scripts.spec_table", "--check"]

    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_rules_are_read_in_few_words() -> None:
    rules = read_rules()

    assert len(rules) > 300
    assert rules["PREVOTE-8"] == "Leader: never"
    assert max(map(len, rules.values())) < 120


def test_specification_finds_nothing_wrong_when_each_rule_has_a_test_or_a_reason() -> None:
    assert list(SOUND.problems()) == []


@pytest.mark.parametrize(
    ("unsound", "problem"),
    [
        pytest.param(
            replace(SOUND, proofs={**SOUND.proofs, "B-9": {PROOF}}),
            "B-9 is cited by tests/core/test_a.py, but is not a rule",
            id="a test cites no rule",
        ),
        pytest.param(replace(SOUND, missing={}), "A-3 has neither a test nor a reason", id="nothing is said of a rule"),
        pytest.param(
            replace(SOUND, missing={"A-1": "once", "A-3": "why not"}),
            "A-1 has a test, so the reason",
            id="a reason is old",
        ),
        pytest.param(
            replace(SOUND, partly={"A-3": "half"}), "A-3 has no test, so it is", id="half of nothing is proven"
        ),
        pytest.param(
            replace(SOUND, missing={**SOUND.missing, "B-9": "why not"}),
            "B-9 has a reason, and is not a rule",
            id="a reason is for no rule",
        ),
    ],
)
def test_specification_names_what_is_wrong(unsound: Specification, problem: str) -> None:
    assert next(iter(unsound.problems())).startswith(problem)


def test_document_links_tests_and_names_modules() -> None:
    document = SOUND.document()

    assert "3 rules, 2 proven by tests, 1 not." in document
    assert "| A-1 | proven | `raft.core.machine` | [leader does it](../tests/core/test_a.py) |" in document
    assert "| A-2 | proven in part | `raft.core` |" in document, "by the folder of the test"
    assert "- **A-2**: but for this" in document
    assert "- **A-3**: why not" in document


def test_links_of_the_document_lead_somewhere() -> None:
    document = Path(ROOT / "docs" / "spec.md").read_text()

    targets = {part.partition(")")[0] for part in document.split("](../")[1:]}

    assert len(targets) > 50
    assert not [target for target in targets if not (ROOT / target).exists()]
