"""The benchmark of the alternatives in docs/decisions compares ways that do the same."""

from __future__ import annotations

from benchmarks.decisions import ways_to_check_records, ways_to_make_a_message


def test_every_way_makes_the_same_message() -> None:
    messages = [way() for way in ways_to_make_a_message().values()]

    assert len(messages) == 4
    assert len(set(messages)) == 1
    assert len({type(message) for message in messages}) == 1


def test_every_scanner_passes_the_records() -> None:
    checked = [way() for way in ways_to_check_records().values()]

    assert len(checked) == 2
    assert len(set(checked)) == 1
