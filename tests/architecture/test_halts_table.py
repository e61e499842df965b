"""The table of halts in docs/halts.md names every cause once, with who can cause it and why stopping is right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from raft.core.effects import HaltCause

DOCUMENT = Path(__file__).parents[2] / "docs" / "halts.md"
ROW = re.compile(r"^\| `([A-Z_]+)` \| (.+) \| (.+) \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, ...]]:
    return [match.groups() for match in ROW.finditer(DOCUMENT.read_text())]


def test_table_has_one_row_for_each_cause() -> None:
    named = [row[0] for row in rows()]

    assert sorted(named) == sorted(cause.name for cause in HaltCause)


@pytest.mark.parametrize("cause", [pytest.param(cause.name, id=cause.name) for cause in HaltCause])
def test_row_says_what_happened_who_causes_it_and_why(cause: str) -> None:
    (row,) = [row for row in rows() if row[0] == cause]

    assert all(len(cell.split()) >= 5 for cell in row[1:])
