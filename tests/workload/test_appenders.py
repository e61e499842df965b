"""The check of `Appenders` finds each way in which a log can differ from what was acknowledged."""

from __future__ import annotations

import pytest

from raft.client import Client
from raft.records.record import Record
from raft.types import Offset
from tests.workload.appenders import Appenders
from tests.workload.history import Append


def not_called() -> Client:
    raise AssertionError("these appenders are not started")


def appenders_with(*, appends: int) -> tuple[Appenders, list[Record]]:
    """Return one appender with acknowledged appends, and the log that they make."""
    appenders = Appenders(not_called, count=1)
    (name,) = appenders.names
    records = [Record(value=f"{name}-{at}".encode(), timestamp_ms=0, offset=Offset(at)) for at in range(appends)]
    for record in records:
        assert record.value is not None
        begin_ns = 10 * record.offset
        append = Append(
            client=name, value=record.value, invoked_ns=begin_ns, acknowledged_ns=begin_ns + 1, offset=record.offset
        )
        appenders.history.appended(append)
    return appenders, records


def moved(record: Record, offset: int) -> Record:
    return Record(value=record.value, timestamp_ms=0, offset=Offset(offset))


def test_appenders_accept_a_log_with_records_of_other_clients() -> None:
    appenders, records = appenders_with(appends=2)

    appenders.check([*records, Record(value=b"of another client", timestamp_ms=0, offset=Offset(2))])


def test_appenders_reject_a_log_without_an_acknowledged_value() -> None:
    appenders, (first, _) = appenders_with(appends=2)

    with pytest.raises(AssertionError, match="was acknowledged and is not in the log"):
        appenders.check([first])


def test_appenders_reject_a_log_with_a_value_twice() -> None:
    appenders, (first, second) = appenders_with(appends=2)

    with pytest.raises(AssertionError, match="is in the log 2 times"):
        appenders.check([first, second, moved(second, 2)])


def test_appenders_reject_a_log_with_values_at_exchanged_offsets() -> None:
    appenders, (first, second) = appenders_with(appends=2)

    with pytest.raises(AssertionError, match="was acknowledged at"):
        appenders.check([moved(second, 0), moved(first, 1)])


def test_appenders_reject_a_value_that_overtook_an_acknowledged_one() -> None:
    appenders, (first,) = appenders_with(appends=1)
    (name,) = appenders.names
    unacknowledged = f"{name}-1".encode()
    appenders.history.appended(Append(client=name, value=unacknowledged, invoked_ns=5))

    with pytest.raises(AssertionError, match="were acknowledged before"):
        appenders.check([Record(value=unacknowledged, timestamp_ms=0, offset=Offset(0)), moved(first, 1)])


def test_appenders_report_one_that_ended_with_an_error() -> None:
    appenders, records = appenders_with(appends=1)
    appenders.history.complain(appenders.names[0], ValueError("a reason"))

    with pytest.raises(AssertionError, match="ended with ValueError: a reason"):
        appenders.check(records)


def test_appenders_report_one_without_an_acknowledged_append() -> None:
    appenders, _ = appenders_with(appends=0)

    with pytest.raises(AssertionError, match="no append was acknowledged to"):
        appenders.check([])
