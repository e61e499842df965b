"""A task's read from leaders that have less than is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from datasource import reading
from datasource.options import ReadOptions
from datasource.planning import DataLossError, LogRange
from datasource.reading import read_range
from raft.client.results import Fetched
from raft.errors import OffsetOutOfRangeError, QuorumUnavailableError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Epoch, Offset

RANGE = LogRange(start_offset=Offset(7), end_offset=Offset(9), cluster_id="cluster", epoch=Epoch(1))
RECORDS = build_batch([Record(value=b"seventh"), Record(value=b"eighth")], base_offset=Offset(7), epoch=Epoch(1))
OPTIONS = {"kraft.bootstrap.servers": "localhost:1", "kraft.default.api.timeout.ms": "300"}


class Leaders:
    """Leaders that respond one after the other; the first ones have a log that ends before the range."""

    def __init__(self, deposed: int) -> None:
        self.deposed = deposed

    def fetch(self, offset: Offset, **_: Any) -> Fetched:
        self.deposed -= 1
        if self.deposed >= 0:
            raise OffsetOutOfRangeError(f"{offset} is out of range", log_start_offset=0, high_watermark=5)
        return Fetched(records=RECORDS, high_watermark=Offset(9), log_start_offset=Offset(0))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[bytes]]:
    """Read the range from some leaders."""

    def read(deposed: int, **options: str) -> list[bytes]:
        monkeypatch.setattr(reading, "client_for", lambda *_, **__: Leaders(deposed))
        record_batches = read_range(ReadOptions.of(OPTIONS | options), RANGE)
        return [value for record_batch in record_batches for value in record_batch.column("value").to_pylist()]

    return read


@pytest.mark.parametrize("fails", ["true", "false"])
def test_range_is_read_completely_though_a_replaced_leader_is_found_first(
    read: Callable[..., list[bytes]], fails: str
) -> None:
    assert read(2, failOnDataLoss=fails) == [b"seventh", b"eighth"]


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
        return Fetched(records=b"", high_watermark=end, log_start_offset=Offset(0))


@pytest.mark.parametrize("end", [7, 5])
def test_range_is_lost_when_the_log_ends_where_it_begins(monkeypatch: pytest.MonkeyPatch, end: int) -> None:
    monkeypatch.setattr(reading, "client_for", lambda *_, **__: Shorter(end))

    with pytest.raises(DataLossError, match=f"cannot read offsets 7 to 9: the log is committed up to {end}"):
        list(read_range(ReadOptions.of(OPTIONS), RANGE))

    assert list(read_range(ReadOptions.of(OPTIONS | {"failOnDataLoss": "false"}), RANGE)) == []


@pytest.mark.parametrize("end", [None, 9])
@pytest.mark.parametrize("fails", ["true", "false"])
def test_range_is_not_lost_when_its_end_is_committed_or_unknown(
    monkeypatch: pytest.MonkeyPatch, fails: str, end: int | None
) -> None:
    monkeypatch.setattr(reading, "client_for", lambda *_, **__: Shorter(end))

    with pytest.raises(QuorumUnavailableError, match="offsets 7 to 9 are committed, but no leader sent them"):
        list(read_range(ReadOptions.of(OPTIONS | {"failOnDataLoss": fails}), RANGE))
