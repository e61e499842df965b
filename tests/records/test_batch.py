from dataclasses import replace

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.batch import build_batch, read_records
from raft.records.compression import Compression
from raft.records.header import read_header
from raft.records.header_fields import check_crc
from raft.records.record import Record
from raft.types import Epoch, Offset
from tests.records.librdkafka_batches import CAUGHT
from tests.records.samples import RICH, with_field

CODECS = [pytest.param(codec, id=codec.name.lower()) for codec in Compression]

records_strategy = st.lists(
    st.builds(
        Record,
        key=st.none() | st.binary(max_size=20),
        value=st.none() | st.binary(max_size=80),
        headers=st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3).map(tuple),
        timestamp_ms=st.integers(-1, 2**41),
    ),
    min_size=1,
    max_size=20,
)


def placed(records: tuple[Record, ...] | list[Record], base_offset: int) -> list[Record]:
    return [replace(record, offset=Offset(base_offset + delta)) for delta, record in enumerate(records)]


@pytest.mark.parametrize("codec", CODECS)
def test_records_are_unchanged_when_the_batch_is_read(codec: Compression) -> None:
    batch = build_batch(RICH, base_offset=Offset(42), epoch=Epoch(3), compression=codec)

    assert list(read_records(batch)) == placed(RICH, 42)


@given(records=records_strategy, codec=st.sampled_from(Compression))
def test_records_are_unchanged_when_they_are_random(records: list[Record], codec: Compression) -> None:
    batch = build_batch(records, base_offset=Offset(9), compression=codec)

    check_crc(batch, 0, len(batch))
    assert list(read_records(batch)) == placed(records, 9)


@pytest.mark.parametrize("codec", CODECS)
def test_aiokafka_reads_batch_when_we_build_it(codec: Compression) -> None:
    batch = build_batch(RICH, base_offset=Offset(42), compression=codec)

    memory = MemoryRecords(batch)
    theirs = memory.next_batch()
    assert theirs is not None
    assert theirs.validate_crc()
    assert [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in theirs] == [
        (r.offset, r.timestamp_ms, r.key, r.value, r.headers) for r in placed(RICH, 42)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_batch_of_aiokafka_is_read_when_it_builds_it(codec: Compression) -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=77,
        producer_epoch=1,
        base_sequence=5,
        batch_size=1 << 20,
    )
    for delta, record in enumerate(RICH):
        builder.append(delta, record.timestamp_ms, record.key, record.value, list(record.headers))

    batch = bytes(builder.build())

    check_crc(batch, 0, len(batch))
    assert list(read_records(batch)) == placed(RICH, 0)
    header = read_header(batch)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 1, 5)


def test_batch_equals_the_one_of_aiokafka_when_built_from_the_same() -> None:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for delta, record in enumerate(RICH):
        builder.append(delta, record.timestamp_ms, record.key, record.value, list(record.headers))

    assert build_batch(RICH) == bytes(builder.build())


@pytest.mark.parametrize("codec", CODECS)
def test_captured_batch_of_librdkafka_is_read(codec: Compression) -> None:
    batch = CAUGHT[codec]

    check_crc(batch, 0, len(batch))
    assert list(read_records(batch)) == [
        Record(
            key=b"key-%d" % i,
            value=b"value-%d " % i * 20,
            headers=(("trace", b"\x00\x01"), ("empty", None)),
            timestamp_ms=1_700_000_000_000 + i,
            offset=Offset(i),
        )
        for i in range(5)
    ]


def test_records_all_have_the_append_time_when_the_batch_says_so() -> None:
    batch = with_field(build_batch(RICH), 21, ">h", 0x08)

    assert {record.timestamp_ms for record in read_records(batch)} == {1_700_000_005_000}


def test_batch_is_refused_when_its_records_expand_too_far() -> None:
    bomb = build_batch([Record(value=bytes(1 << 20))], compression=Compression.ZSTD)

    with pytest.raises(DecodeError, match="more than 1000 bytes"):
        list(read_records(bomb, max_bytes=1000))


@pytest.mark.parametrize("count", [3, 5])
def test_batch_is_refused_when_its_record_count_is_wrong(count: int) -> None:
    with pytest.raises(DecodeError):
        list(read_records(with_field(build_batch(RICH), 57, ">i", count)))


def test_batch_needs_a_record() -> None:
    with pytest.raises(AssertionError, match="at least one"):
        build_batch([])


@settings(max_examples=30)
@given(records=records_strategy)
def test_header_matches_records_when_the_batch_is_built(records: list[Record]) -> None:
    header = read_header(build_batch(records, base_offset=Offset(3)))

    assert header.record_count == len(records) == header.end_offset - 3
    assert header.max_timestamp_ms == max(record.timestamp_ms for record in records)
