"""Every entry of docs/troubleshooting.md is a message that its cause produces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.troubleshooting.messages import CAUSES, NOT_FOUND, message_of
from tests.troubleshooting.missing import MISSING
from tests.troubleshooting.refusals import REFUSALS

ALL_CAUSES = CAUSES | REFUSALS | MISSING
DOCUMENT = (Path(__file__).parents[2] / "docs" / "troubleshooting.md").read_text()
HEADINGS = re.findall(r"^### `(.+)`$", DOCUMENT, re.MULTILINE)


def begins_as(heading: str) -> re.Pattern[str]:
    """The pattern of messages that begin as the heading says."""
    return re.compile(".+?".join(re.escape(part) for part in heading.split("...")), re.DOTALL)


def test_every_entry_has_a_test_and_every_test_an_entry() -> None:
    assert sorted(HEADINGS) == sorted({*ALL_CAUSES, NOT_FOUND})


def test_every_entry_says_something() -> None:
    entries = re.split(r"^### .+\n", DOCUMENT, flags=re.MULTILINE)[1:]

    assert [heading for heading, entry in zip(HEADINGS, entries, strict=True) if not entry.strip()] == []


@pytest.mark.parametrize("heading", ALL_CAUSES)
def test_cause_produces_the_message(heading: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with monkeypatch.context() as patch:
        message = ALL_CAUSES[heading](patch, tmp_path)

    assert begins_as(heading).match(message), message


def test_pattern_of_a_heading_refuses_another_message() -> None:
    assert not begins_as("option ... is missing").match("option kraft.bootstrap.servers is wrong")
    with pytest.raises(pytest.fail.Exception):
        message_of(lambda: None)
