from typing import Any

import pytest

from raft.errors import ErrorCode, RequestError
from raft.records.batch import build_batch, read_records
from raft.records.compression import Compression, compress
from raft.records.header_fields import HEADER, LENGTH_END
from raft.records.produced import read_produced_batch
from raft.records.record import Record
from tests.records.librdkafka_batches import CAUGHT
from tests.records.samples import RICH, with_field

BATCH = build_batch(RICH)
PLAIN = build_batch([Record(value=b"a", timestamp_ms=5), Record(value=b"b", timestamp_ms=5)])


def claiming(records: int, *, codec: Compression = Compression.NONE) -> bytes:
    """One small record in a batch whose header claims so many."""
    batch = build_batch([Record(value=None)], compression=codec)
    return with_field(with_field(batch, 23, ">i", records - 1), 57, ">i", records)


def flipped(data: bytes, position: int) -> bytes:
    damaged = bytearray(data)
    damaged[position] ^= 1
    return bytes(damaged)


@pytest.mark.parametrize("codec", [pytest.param(codec, id=codec.name.lower()) for codec in Compression])
def test_leader_takes_batch_when_a_client_sends_it_with_any_codec(codec: Compression) -> None:
    batch = read_produced_batch(CAUGHT[codec], max_batch_bytes=1 << 20)

    assert batch.payload is CAUGHT[codec]
    assert batch.header.record_count == 5


@pytest.mark.parametrize(
    ("data", "code"),
    [
        pytest.param(b"", ErrorCode.INVALID_RECORD, id="nothing"),
        pytest.param(BATCH[:-1], ErrorCode.INVALID_RECORD, id="incomplete"),
        pytest.param(BATCH[:30], ErrorCode.INVALID_RECORD, id="truncated in the header"),
        pytest.param(BATCH + BATCH, ErrorCode.INVALID_RECORD, id="two batches"),
        pytest.param(BATCH + b"x", ErrorCode.INVALID_RECORD, id="a byte too many"),
        pytest.param(with_field(BATCH, 16, ">b", 0), ErrorCode.INVALID_RECORD, id="magic 0"),
        pytest.param(flipped(BATCH, len(BATCH) - 1), ErrorCode.CORRUPT_MESSAGE, id="checksum"),
        pytest.param(with_field(BATCH, 23, ">i", -4), ErrorCode.CORRUPT_MESSAGE, id="negative last offset delta"),
        pytest.param(with_field(BATCH, 21, ">h", 5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, id="codec 5"),
        pytest.param(with_field(BATCH, 21, ">h", 0x20), ErrorCode.INVALID_RECORD, id="control flag"),
        pytest.param(with_field(BATCH, 57, ">i", 0), ErrorCode.INVALID_RECORD, id="zero records"),
        pytest.param(with_field(BATCH, 23, ">i", 9), ErrorCode.INVALID_RECORD, id="offsets without records"),
        pytest.param(with_field(BATCH, 43, ">q", 7), ErrorCode.INVALID_RECORD, id="producer id without epoch"),
        pytest.param(with_field(BATCH, 21, ">h", 0x10), ErrorCode.INVALID_RECORD, id="transactional"),
    ],
)
@pytest.mark.rule("CLIENT-6")
def test_leader_refuses_batch_with_kafka_code_when_unfit(data: bytes, code: ErrorCode) -> None:
    with pytest.raises(RequestError) as refusal:
        read_produced_batch(data, max_batch_bytes=1 << 20)

    assert refusal.value.code == code


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(claiming(2), id="one more than there is room for"),
        pytest.param(claiming((1 << 31) - 1), id="all that a header can say"),
        pytest.param(claiming((1 << 31) - 1, codec=Compression.ZSTD), id="all that a header can say, compressed"),
        pytest.param(claiming((64 << 20) // 7 + 1, codec=Compression.GZIP), id="more than may be decompressed"),
    ],
)
def test_leader_refuses_batch_when_it_claims_more_records_than_it_can_hold(data: bytes) -> None:
    with pytest.raises(RequestError, match="records in") as refusal:
        read_produced_batch(data, max_batch_bytes=1 << 20)

    assert refusal.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [pytest.param(codec, id=codec.name.lower()) for codec in Compression])
def test_leader_takes_batch_when_its_records_are_the_smallest_there_are(codec: Compression) -> None:
    batch = build_batch([Record(value=None)] * 60, compression=codec)

    assert read_produced_batch(batch, max_batch_bytes=1 << 20).header.record_count == 60


def at_time(timestamp_ms: int, **changes: Any) -> bytes:
    return build_batch([Record(value=b"v", timestamp_ms=timestamp_ms)], **changes)


def of_section(section: bytes, *, codec: Compression = Compression.NONE, records: int = 1) -> bytes:
    """A batch with these bytes in the place of its records."""
    header = build_batch([Record(value=None)], compression=codec)[: HEADER.size]
    batch = header + compress(codec, section)
    batch = with_field(batch, 8, ">i", len(batch) - LENGTH_END)
    return with_field(with_field(batch, 23, ">i", records - 1), 57, ">i", records)


KEY: dict[str, Any] = {"producer_id": 2**62 + 5, "producer_epoch": 0, "base_sequence": 9}
LAST_MS = (2**63 - 1) // 1000
BAD_KEY = bytes([20, 0, 0, 0, 1, 1, 2, 4, 0xC3, 0x28, 1])
"""A record with a header whose key is not UTF-8."""


@pytest.mark.parametrize(
    ("data", "code", "reason"),
    [
        pytest.param(of_section(b"garbage"), ErrorCode.INVALID_RECORD, "record 0 of the batch", id="garbage"),
        pytest.param(
            with_field(build_batch(RICH, **KEY), HEADER.size, ">b", 0x7F),
            ErrorCode.INVALID_RECORD,
            "record 0 of the batch",
            id="garbage under a write key",
        ),
        pytest.param(
            of_section(bytes(7) * 2, codec=Compression.LZ4, records=2),
            ErrorCode.INVALID_RECORD,
            "record 0 of the batch",
            id="garbage, compressed",
        ),
        pytest.param(
            of_section(bytes([12, 0, 0, 0, 1, 1, 0]) * 2, records=2),
            ErrorCode.INVALID_RECORD,
            "record 1 of the batch: its offset",
            id="an offset twice",
        ),
        pytest.param(
            with_field(BATCH, 21, ">h", Compression.ZSTD),
            ErrorCode.INVALID_RECORD,
            "compressed records: malformed data",
            id="not what its codec says",
        ),
        pytest.param(
            at_time(LAST_MS + 1), ErrorCode.INVALID_TIMESTAMP, "milliseconds since 1970", id="a time in nanoseconds"
        ),
        pytest.param(
            at_time(LAST_MS + 1, **KEY), ErrorCode.INVALID_TIMESTAMP, "since 1970", id="the same under a write key"
        ),
        pytest.param(
            at_time(LAST_MS + 1, compression=Compression.GZIP),
            ErrorCode.INVALID_TIMESTAMP,
            "since 1970",
            id="the same, compressed",
        ),
        *(
            pytest.param(
                of_section(bytes((64 << 20) + 1), codec=codec),
                ErrorCode.MESSAGE_TOO_LARGE,
                "compressed records: .*67108864",
                id=f"more than readers take, {codec.name.lower()}",
            )
            for codec in Compression
            if codec
        ),
    ],
)
@pytest.mark.rule("CLIENT-12")
def test_leader_refuses_batch_when_readers_could_not_read_it(data: bytes, code: ErrorCode, reason: str) -> None:
    with pytest.raises(RequestError, match=reason) as refusal:
        read_produced_batch(data, max_batch_bytes=8 << 20)

    assert refusal.value.code == code


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(of_section(BAD_KEY), id="a header key that is not UTF-8"),
        pytest.param(at_time(LAST_MS), id="the last time there is"),
        pytest.param(build_batch(RICH, **KEY), id="a write key"),
        pytest.param(build_batch(RICH, compression=Compression.ZSTD, **KEY), id="a write key, compressed"),
        pytest.param(build_batch([Record(value=bytes(40 << 20))], compression=Compression.ZSTD), id="40 MiB"),
    ],
)
@pytest.mark.rule("CLIENT-12")
def test_leader_takes_batch_when_every_reader_can_read_it(data: bytes) -> None:
    assert read_produced_batch(data, max_batch_bytes=8 << 20).payload is data
    assert list(read_records(data))


def test_batch_that_is_not_compressed_is_read_whatever_its_size() -> None:
    large = build_batch([Record(value=bytes(2000))])

    assert read_produced_batch(large, max_batch_bytes=8 << 20).payload is large
    assert len(list(read_records(large, max_bytes=1000))) == 1


@pytest.mark.rule("CLIENT-6")
def test_leader_refuses_batch_when_larger_than_allowed() -> None:
    assert read_produced_batch(BATCH, max_batch_bytes=len(BATCH)).payload == BATCH

    with pytest.raises(RequestError) as refusal:
        read_produced_batch(BATCH, max_batch_bytes=len(BATCH) - 1)

    assert refusal.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_leader_takes_any_record_when_not_strict() -> None:
    assert read_produced_batch(BATCH, max_batch_bytes=1 << 20).header.record_count == len(RICH)


def test_strict_leader_takes_batch_when_java_can_read_it() -> None:
    assert read_produced_batch(PLAIN, max_batch_bytes=1 << 20, strict=True).header.record_count == 2


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(build_batch([Record(key=b"k", value=b"v")]), id="key"),
        pytest.param(build_batch([Record(key=b"", value=b"v")]), id="empty key"),
        pytest.param(build_batch([Record(value=b"v", headers=(("h", b""),))]), id="header"),
        pytest.param(build_batch([Record(value=None)]), id="null value"),
        pytest.param(build_batch([Record(value=b"")]), id="empty value"),
        pytest.param(
            build_batch([Record(value=b"a", timestamp_ms=5), Record(value=b"b", timestamp_ms=6)]), id="time delta"
        ),
        pytest.param(with_field(PLAIN, 63, ">b", 0x0E), id="time delta of the first record"),
        pytest.param(with_field(PLAIN, 21, ">h", 0x08), id="append time"),
        pytest.param(with_field(PLAIN, 61, ">b", 0x7F), id="broken record"),
    ],
)
@pytest.mark.rule("LOG-4")
def test_strict_leader_refuses_batch_when_java_would_exit_over_it(data: bytes) -> None:
    with pytest.raises(RequestError) as refusal:
        read_produced_batch(data, max_batch_bytes=1 << 20, strict=True)

    assert refusal.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [pytest.param(codec, id=codec.name.lower()) for codec in Compression])
def test_batch_with_a_record_without_a_key_is_refused_where_the_log_is_compacted(codec: Compression) -> None:
    keyed, unkeyed = Record(key=b"k", value=b"v"), Record(value=b"v")
    batch = build_batch([keyed, unkeyed], compression=codec)

    with pytest.raises(RequestError, match=r"cleanup\.policy=compact: record 1 of the batch has no key") as refused:
        read_produced_batch(batch, max_batch_bytes=1 << 20, needs_keys=True)

    assert refused.value.code == ErrorCode.INVALID_RECORD
    whole = build_batch([keyed, keyed], compression=codec)
    assert read_produced_batch(whole, max_batch_bytes=1 << 20, needs_keys=True).payload == whole
