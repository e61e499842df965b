"""The diagram of roles in the documents is drawn from the table that the core obeys."""

from __future__ import annotations

from pathlib import Path

from scripts.role_diagram import DOCUMENT, diagram


def test_role_diagram_is_the_one_of_the_table() -> None:
    text = Path(__file__).parents[2].joinpath(DOCUMENT).read_text()

    assert diagram() in text, "the table of moves has changed: run `python -m scripts.role_diagram`"
