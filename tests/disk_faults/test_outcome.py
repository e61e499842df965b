"""What a run concludes from the values that were acknowledged and those that are read."""

from __future__ import annotations

from tests.disk_faults.outcome import Outcome

_VALUES = {b"1", b"2", b"3"}


def test_nothing_is_wrong_when_every_acknowledged_value_is_read() -> None:
    outcome = Outcome.of(_VALUES, _VALUES | {b"of unknown outcome"}, accepts_appends=True)

    assert outcome.is_fine
    assert str(outcome) == "lost 0 of 3 acknowledged values"


def test_value_is_lost_when_it_is_not_read() -> None:
    outcome = Outcome.of(_VALUES, {b"1", b"3"}, accepts_appends=True)

    assert not outcome.is_fine
    assert str(outcome).splitlines() == ["lost 1 of 3 acknowledged values", "  2"]
    assert outcome.verdict("power of all").sentences == ["power of all: 2 was acknowledged and is lost"]


def test_all_values_are_lost_when_the_log_cannot_be_read() -> None:
    outcome = Outcome.of(_VALUES, "stream not found", accepts_appends=True)

    assert not outcome.is_fine
    assert outcome.lost == [b"1", b"2", b"3"]
    assert "the log cannot be read: stream not found" in str(outcome)


def test_outcome_is_wrong_when_no_appends_succeed_after_the_fault() -> None:
    outcome = Outcome.of(_VALUES, _VALUES, accepts_appends=False)

    assert not outcome.is_fine
    assert "appends did not succeed again after the fault" in str(outcome)
    assert outcome.verdict("power of all").broken == ["power of all: appends did not succeed again"]


def test_nodes_that_refused_to_start_are_named_when_nothing_is_lost() -> None:
    outcome = Outcome.of(_VALUES, _VALUES, accepts_appends=True, refused=["node 1: its log is damaged"])

    assert outcome.is_fine
    assert "refused to start: node 1: its log is damaged" in str(outcome)
