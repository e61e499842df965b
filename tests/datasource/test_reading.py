"""A task's read from leaders that have less than is committed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from datasource import range_reader
from datasource.options import ReadOptions
from datasource.range_reader import read_range
from datasource.read_plan import DataLossError, LogRange
from raft.client.results import Fetched
from raft.errors import OffsetOutOfRangeError, QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Endpoint, Epoch, Offset

RANGE = LogRange(start_offset=Offset(7), end_offset=Offset(9), cluster_id="cluster", epoch=Epoch(1))
RECORDS = build_batch([Record(value=b"seventh"), Record(value=b"eighth")], base_offset=Offset(7), epoch=Epoch(1))
FOLLOWER = Endpoint("follower", 9093)
OPTIONS = {"kraft.bootstrap.servers": "localhost:1", "kraft.default.api.timeout.ms": "300"}


class Leaders:
    """Leaders that respond one after the other; the first ones have a log that ends before the range."""

    def __init__(self, deposed: int) -> None:
        self.deposed = deposed

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        self.deposed -= 1
        if self.deposed >= 0:
            raise OffsetOutOfRangeError(f"{offset} is out of range", log_start_offset=0, high_watermark=5)
        return Fetched(records=RECORDS, last_stable_offset=Offset(9), log_start_offset=Offset(0))

    def leave_reader(self, reader: Endpoint) -> None:
        raise AssertionError(f"{reader} has sent nothing")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bytes]]:
    """Read the range from some leaders."""

    def read(deposed: int, **options: str) -> list[bytes]:
        monkeypatch.setattr(range_reader, "client_for", lambda *_, **__: Leaders(deposed))
        record_batches = read_range(ReadOptions.of(OPTIONS | options), RANGE)
        return [value for record_batch in record_batches for value in record_batch.column("value").to_pylist()]

    return read


class Shortened:
    """A leader whose log starts at an offset, from which it has two records."""

    def __init__(self, log_start_offset: int) -> None:
        self.log_start_offset = Offset(log_start_offset)

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        if offset < self.log_start_offset:
            start = self.log_start_offset
            raise OffsetOutOfRangeError(f"{offset} is out of range", log_start_offset=start, high_watermark=start + 2)
        records = build_batch([Record(value=b"a"), Record(value=b"b")], base_offset=offset, epoch=Epoch(1))
        return Fetched(records=records, last_stable_offset=Offset(offset + 2), log_start_offset=self.log_start_offset)

    def leave_reader(self, reader: Endpoint) -> None:
        raise AssertionError(f"{reader} has sent nothing")


@pytest.mark.kafka_suite(37)
def test_range_that_starts_at_the_earliest_record_starts_where_that_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(range_reader, "client_for", lambda *_, **__: Shortened(20))
    earliest = replace(RANGE, start_offset=Offset(0), end_offset=Offset(22), starts_at_earliest=True)
    options = ReadOptions.of(OPTIONS)

    read = [each.column("offset").to_pylist() for each in read_range(options, earliest)]

    assert read == [[20, 21]]
    for lost in (replace(earliest, starts_at_earliest=False), replace(earliest, end_offset=Offset(19))):
        with pytest.raises(DataLossError, match="cannot read offsets 0 to"):
            list(read_range(options, lost))


@pytest.mark.kafka_suite(45)
@pytest.mark.parametrize("fails", ["true", "false"])
def test_range_is_read_completely_though_a_replaced_leader_is_found_first(
    read: Callable[..., list[bytes]], fails: str
) -> None:
    assert read(2, failOnDataLoss=fails) == [b"seventh", b"eighth"]


@pytest.mark.kafka_suite(45)
def test_range_is_lost_when_no_leader_has_it_for_the_time_of_a_call(read: Callable[..., list[bytes]]) -> None:
    with pytest.raises(DataLossError, match="cannot read offsets 7 to 9: 7 is out of range"):
        read(1_000_000)

    assert read(1_000_000, failOnDataLoss="false") == []


class Shorter:
    """The leader of a new log that has grown up to an offset of the range, or past it without a commit."""

    def __init__(self, end: int | None) -> None:
        self.end = end

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        end = None if self.end is None else Offset(self.end)
        return Fetched(records=b"", last_stable_offset=end, log_start_offset=Offset(0))


@pytest.mark.parametrize("end", [7, 5])
def test_range_is_lost_when_the_log_ends_where_it_begins(monkeypatch: pytest.MonkeyPatch, end: int) -> None:
    monkeypatch.setattr(range_reader, "client_for", lambda *_, **__: Shorter(end))

    with pytest.raises(DataLossError, match=f"cannot read offsets 7 to 9: the log is committed up to {end}"):
        list(read_range(ReadOptions.of(OPTIONS), RANGE))

    assert list(read_range(ReadOptions.of(OPTIONS | {"failOnDataLoss": "false"}), RANGE)) == []


@pytest.mark.parametrize("end", [None, 9])
@pytest.mark.parametrize("fails", ["true", "false"])
def test_range_is_not_lost_when_its_end_is_committed_or_unknown(
    monkeypatch: pytest.MonkeyPatch, fails: str, end: int | None
) -> None:
    monkeypatch.setattr(range_reader, "client_for", lambda *_, **__: Shorter(end))

    with pytest.raises(QuorumUnavailableError, match="offsets 7 to 9 are committed, but no leader sent them"):
        list(read_range(ReadOptions.of(OPTIONS | {"failOnDataLoss": fails}), RANGE))


class OneDamagedCopy:
    """A quorum in which a follower, which is asked first, has a damaged copy of the records."""

    def __init__(self) -> None:
        self.left: list[Endpoint] = []

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        reader = None if self.left else FOLLOWER
        records = RECORDS if self.left else RECORDS[:-1] + b"?"
        return Fetched(records=records, last_stable_offset=Offset(9), log_start_offset=Offset(0), reader=reader)

    def leave_reader(self, reader: Endpoint) -> None:
        self.left.append(reader)


@pytest.mark.rule("READ-6")
def test_range_is_read_from_the_leader_when_a_follower_has_a_damaged_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    quorum = OneDamagedCopy()
    monkeypatch.setattr(range_reader, "client_for", lambda *_, **__: quorum)

    record_batches = read_range(ReadOptions.of(OPTIONS | {"kraft.read.from": "any"}), RANGE)

    values = [value for record_batch in record_batches for value in record_batch.column("value").to_pylist()]
    assert values == [b"seventh", b"eighth"]
    assert quorum.left == [FOLLOWER]
