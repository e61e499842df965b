"""The sizes, durations and counts that documents state are those of the code.

Defaults in conf/node.properties are compared by tests/config/test_node.py, the options of the connector by
tests/architecture/test_options_table.py.
"""

from __future__ import annotations

import re

import pytest

from tests.architecture.documented_constants import DOCUMENTED, ROOT, Documented

WORDS = {"a": 1, "each": 1, "one": 1, "two": 2, "twice": 2, "four": 4, "ten": 10, "fifteen": 15}
UNITS = {
    "ms": 1,
    "s": 1000,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 7 * 86_400_000,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
}
"""In milliseconds, or in bytes."""

UNIT = r"(?:ms|s|KiB|MiB|GiB|(?:second|minute|hour|day|week)s?)\b"


def value_of(text: str) -> float:
    """Return a number with its unit, in milliseconds or bytes; a unit alone is one of it."""
    found = re.fullmatch(rf"(?P<number>.*?) ?(?P<unit>{UNIT})?", text)
    assert found is not None
    number = found["number"].lower() or "one"
    factor = UNITS[found["unit"]] if found["unit"] in UNITS else UNITS[found["unit"][:-1]] if found["unit"] else 1
    return (WORDS[number] if number in WORDS else float(number.replace(",", ""))) * factor


def stated(document: str, sentence: str) -> list[str]:
    """Return what a document states in place of `{}`, each time that it has the sentence."""
    before, after = (re.escape(part) for part in sentence.split("{}"))
    text = " ".join(document.split())
    return re.findall(rf"{before}((?:[0-9][0-9,.]*|[A-Za-z]+)(?: ?{UNIT})?){after}", text)


@pytest.mark.parametrize(
    "documented", [pytest.param(each, id=f"{each.document}: {each.sentence}") for each in DOCUMENTED]
)
def test_document_states_what_the_code_has(documented: Documented) -> None:
    found = stated((ROOT / documented.document).read_text(), documented.sentence)

    assert found, "the sentence is not in the document"
    assert [value_of(number) for number in found] == [documented.value] * len(found)


def test_table_has_the_constants_that_matter() -> None:
    assert len(DOCUMENTED) > 80
    assert len({each.document for each in DOCUMENTED}) > 15


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30 days", 2_592_000_000),
        ("4 MiB", 4 << 20),
        ("10,000", 10_000),
        ("2.5 s", 2_500),
        ("0.25 ms", 0.25),
        ("Ten seconds", 10_000),
        ("two weeks", 1_209_600_000),
        ("a second", 1_000),
        ("second", 1_000),
        ("0.5", 0.5),
        ("17", 17),
    ],
)
def test_number_is_read_with_its_unit(text: str, value: float) -> None:
    assert value_of(text) == value


def test_every_statement_of_a_document_counts() -> None:
    document = "Pieces of 1 MiB. Later:\npieces of\n2 MiB. And pieces of wood."

    assert stated(document, "ieces of {}.") == ["1 MiB", "2 MiB", "wood"]
