"""Every scenario file has the output that it expects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.harness.runner import difference, text_now
from tests.scenarios.harness.script import Script

_SCRIPTS = [Script.read(path) for path in sorted(Path(__file__).parent.glob("scenario_*.txt"))]

_OUT_OF_SCOPE = {7, 35}
"""Voters in the log (7) belong to KIP-853; the numbers of the tool (35) are tested with the tool."""


@pytest.mark.parametrize(
    "script", [pytest.param(script, id=script.path.stem, marks=pytest.mark.rule(*script.rules)) for script in _SCRIPTS]
)
def test_scenario_prints_what_its_file_says_when_run(script: Script, is_rewriting: bool) -> None:
    if is_rewriting:
        script.path.write_text(text_now(script), encoding="utf-8")
    else:
        assert not (diff := difference(script)), (
            f"if the present output is right, run with --rewrite and review the diff:\n{diff}"
        )


def test_scenario_rules_have_a_file_each() -> None:
    rules = [script.rules[0] for script in _SCRIPTS]

    assert sorted(rules) == sorted(f"SCENARIO-{number}" for number in range(1, 43) if number not in _OUT_OF_SCOPE)
    assert [script.path.name[:11] for script in _SCRIPTS] == [f"scenario_{int(rule[9:]):02}" for rule in rules]
