"""Both compactors find the newest record of each key, and keep offsets, epochs, timestamps and headers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from raft.compaction.compactor import Compactor
from raft.errors import DecodeError
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches
from raft.records.header_fields import HEADER, LOG_APPEND_TIME, attributes_of
from raft.records.record import Record
from raft.types import Epoch, Offset
from tests.oracles.compactor import LARGEST_BATCH_BYTES, PythonCompactor

NOW_MS = 10_000
RETENTION_MS = 500

both = pytest.mark.parametrize("name", ["compiled", "python"])


def compactor(name: str, *, now_ms: int = NOW_MS) -> Compactor:
    kind = {"compiled": Compactor, "python": PythonCompactor}[name]
    return kind(now_ms=now_ms, delete_retention_ms=RETENTION_MS)


def log_of(*batches: list[Record], epochs: list[int] | None = None, start: int = 0) -> bytes:
    """Return these batches, one behind the other, at consecutive offsets."""
    pieces, offset = [], start
    for at, records in enumerate(batches):
        epoch = Epoch(epochs[at] if epochs else 1)
        pieces.append(build_batch(records, base_offset=Offset(offset), epoch=epoch))
        offset += len(records)
    return b"".join(pieces)


def record(key: str | None, value: str | None = "v", *, time: int = 5, headers: tuple[str, ...] = ()) -> Record:
    return Record(
        key=None if key is None else key.encode(),
        value=None if value is None else value.encode(),
        timestamp_ms=time,
        headers=tuple((header, b"of it") for header in headers),
    )


def compacted(of: Compactor, new: bytes, *, before: bytes = b"") -> bytes:
    of.note(new)
    return of.retain(before) + of.retain(new) + of.finish()


def records_in(batches: bytes) -> list[tuple[int, Record]]:
    """Return the epoch of each record, and the record."""
    return [(batch.header.epoch, each) for batch in read_batches(batches) for each in read_records(batch.payload)]


@both
@pytest.mark.rule("SNAPSHOT-2")
def test_newest_record_of_each_key_is_kept_as_it_was(name: str) -> None:
    log = log_of(
        [record("a", "1", time=9), record("b", "2", headers=("h", "h"))],
        [record("a", "3", time=2)],
        [record("c", "", time=-1), record(None, "without a key")],
        epochs=[1, 1, 4],
        start=50,
    )

    kept = records_in(compacted(compactor(name), log))

    assert kept == [
        (1, Record(key=b"b", value=b"2", timestamp_ms=5, offset=Offset(51), headers=(("h", b"of it"),) * 2)),
        (1, Record(key=b"a", value=b"3", timestamp_ms=2, offset=Offset(52))),
        (4, Record(key=b"c", value=b"", timestamp_ms=-1, offset=Offset(53))),
    ]


@both
def test_new_record_replaces_that_of_the_snapshot_before(name: str) -> None:
    before = compacted(compactor(name), log_of([record("a", "old"), record("b", "old")]))

    kept = records_in(compacted(compactor(name), log_of([record("a", "new")], start=7), before=before))

    assert [(each.key, each.value, each.offset) for _, each in kept] == [(b"b", b"old", 1), (b"a", b"new", 7)]


@both
@pytest.mark.rule("SNAPSHOT-2")
def test_tombstone_stays_for_the_retention_after_the_first_snapshot_that_has_it(name: str) -> None:
    log = log_of([record("a", "1"), record("b"), record("a", None)])

    first = compacted(compactor(name), log)
    in_time = compacted(compactor(name, now_ms=NOW_MS + RETENTION_MS - 1), b"", before=first)
    too_late = compacted(compactor(name, now_ms=NOW_MS + RETENTION_MS), b"", before=in_time)

    assert [(each.key, each.value, each.offset) for _, each in records_in(first)] == [(b"b", b"v", 1), (b"a", None, 2)]
    assert records_in(in_time) == records_in(first), "timestamps too"
    assert [each.key for _, each in records_in(too_late)] == [b"b"]


@both
def test_key_that_was_deleted_does_not_come_back(name: str) -> None:
    before = compacted(compactor(name), log_of([record("a", "old")]))

    kept = compacted(compactor(name), log_of([record("a", None)], start=3), before=before)

    assert [(each.value, each.offset) for _, each in records_in(kept)] == [(None, 3)]


@both
def test_records_of_one_epoch_are_written_together_up_to_a_size(name: str) -> None:
    log = log_of(*([record(f"key {number}", "x" * 100)] for number in range(2_000)), epochs=[1] * 1_500 + [2] * 500)

    batches = list(read_batches(compacted(compactor(name), log)))

    assert [batch.header.epoch for batch in batches] == sorted(batch.header.epoch for batch in batches)
    assert sum(batch.header.record_count for batch in batches) == 2_000
    assert max(batch.header.size_bytes for batch in batches) < LARGEST_BATCH_BYTES + 200
    assert len(batches) <= 2 + 2_000 * 130 // LARGEST_BATCH_BYTES


@both
def test_time_of_the_append_becomes_that_of_the_records(name: str) -> None:
    batch = bytearray(log_of([record("a", time=3), record("b", time=9)]))
    batch[22] |= LOG_APPEND_TIME
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")

    kept = records_in(compacted(compactor(name), bytes(batch)))

    assert [each.timestamp_ms for _, each in kept] == [9, 9]


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda log: log[:-3], id="torn"),
        pytest.param(lambda log: log[: HEADER.size - 1], id="half a header"),
        pytest.param(lambda log: log[: HEADER.size] + b"\xff" * (len(log) - HEADER.size), id="no records"),
    ],
)
def test_malformed_batch_is_refused(damage: Callable[[bytes], bytes]) -> None:
    log = damage(log_of([record("a"), record("b")]))

    with pytest.raises(DecodeError, match="malformed"):
        compactor("compiled").note(log)
    with pytest.raises(DecodeError, match="malformed"):
        compactor("compiled").retain(log)


keys = st.sampled_from(["a", "b", "c", "longer than sixteen bytes", ""]) | st.none()
values = st.text(max_size=40) | st.none()
some_records = st.builds(
    record,
    keys,
    values,
    time=st.integers(-1, 1 << 40),
    headers=st.lists(st.text("xy", max_size=3), max_size=2).map(tuple),
)
logs = st.lists(st.tuples(st.lists(some_records, min_size=1, max_size=4), st.integers(0, 1)), max_size=12)


def log_from(batches: list[tuple[list[Record], int]], start: int) -> bytes:
    epochs = [1]
    for _, step in batches:
        epochs.append(epochs[-1] + step)
    return log_of(*(records for records, _ in batches), epochs=epochs[1:], start=start)


@given(logs, logs, st.sampled_from([NOW_MS, NOW_MS + RETENTION_MS]))
def test_both_compactors_write_the_same_bytes(
    first: list[tuple[list[Record], int]], second: list[tuple[list[Record], int]], later_ms: int
) -> None:
    written = []
    for name in ("compiled", "python"):
        before = compacted(compactor(name), log_from(first, 10))
        written.append(compacted(compactor(name, now_ms=later_ms), log_from(second, 1_000), before=before))

    assert written[0] == written[1]


@given(logs)
def test_only_the_newest_record_of_each_key_is_kept(batches: list[tuple[list[Record], int]]) -> None:
    log = log_from(batches, 0)
    newest = {each.key: (epoch, each) for epoch, each in records_in(log) if each.key is not None}

    kept = records_in(compacted(compactor("compiled"), log))

    assert kept == sorted(newest.values(), key=lambda each: each[1].offset)


def test_table_of_keys_grows_with_their_number() -> None:
    log = log_of(*([record(f"key {number % 40_000}")] for number in range(80_000)))

    kept = records_in(compacted(compactor("compiled"), log))

    assert [each.offset for _, each in kept] == list(range(40_000, 80_000))


def test_batches_have_no_writer_and_no_transaction() -> None:
    log = build_batch([record("a")], producer_id=7, producer_epoch=0, base_sequence=3, is_transactional=True)

    (batch,) = list(read_batches(compacted(compactor("compiled"), log)))

    assert (batch.header.producer_id, batch.header.is_transactional, attributes_of(batch.payload)) == (None, False, 0)
