"""The tests of authorization fail when a known bug is planted; else that they pass would prove little."""

from __future__ import annotations

import pytest

from tests.runtime.planted_bugs import BUGS, PlantedBug


@pytest.mark.rule("TEST-19")
@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.name) for bug in BUGS])
def test_test_fails_when_a_bug_is_planted(bug: PlantedBug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.found_by()
    bug.plant(monkeypatch)

    with pytest.raises(AssertionError):
        bug.found_by()
