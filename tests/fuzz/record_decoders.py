"""Record batches in the log, in Fetch and in Produce: single ones, several in a row, compressed records."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random

from raft.errors import DecodeError, RequestError
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches, read_good_prefix
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Compression, compress, decompress
from raft.records.control import leader_change_batch, read_control_records, write_commit_batch
from raft.records.control_json import control_record_to_json
from raft.records.control_key import write_control_key
from raft.records.control_values import read_control_value, write_control_value
from raft.records.header import MAX_CONTROL_BYTES, read_header
from raft.records.header_fields import HEADER, check_crc
from raft.records.produced import read_produced_batch
from raft.records.record import Record
from raft.storage.spans import skip_to, take_until
from raft.types import (
    FIRST_KEYED_PRODUCER_ID,
    FIRST_PART_PRODUCER_ID,
    ControlType,
    ControlValue,
    Epoch,
    NodeId,
    Offset,
    TransactionalId,
    WriteCommit,
    WritePart,
)
from tests.fuzz import kafka_bytes
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.node.harness.batches import sealed
from tests.records.librdkafka_batches import CAUGHT
from tests.records.samples import RICH

MAX_DECOMPRESSED_BYTES = 256 << 10
"""The limit of decompressed bytes: larger than the first buffer of the codecs, so that they need a second one."""

_RECORDS = [*RICH[:3], Record(key=b"k" * 70, value=b"v" * 200, headers=(("trace", b"x"),) * 3)]
_COMPRESSIBLE = [Record(value=b"leader %d " % (at % 7) * 9) for at in range(40)]

_PER_BYTE = 64
"""A header of a record takes at least two bytes, and becomes a tuple in a list."""

_BOUND = MemoryBound(fixed_bytes=(64 << 10) + 2 * MAX_CONTROL_BYTES, per_byte=_PER_BYTE)
"""A codec's buffer and a copy of its content, for the larger one of both limits."""

_STRICT_BOUND = MemoryBound(fixed_bytes=(64 << 10) + 2 * DEFAULT_MAX_DECOMPRESSED_BYTES, per_byte=_PER_BYTE)

_VALUE_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=_PER_BYTE)

WRITE_COMMIT = WriteCommit(
    parts=tuple(
        WritePart(producer_id=FIRST_PART_PRODUCER_ID + number, record_count=number + 1, content_checksum=number << 60)
        for number in range(3)
    )
)
TRANSACTIONAL_ID = TransactionalId(name="orders", timeout_ms=60_000, previous=(17, 2))


def leader_change(base_offset: int) -> bytes:
    """Return the LeaderChange batch at the start of an epoch."""
    return leader_change_batch(
        base_offset=Offset(base_offset),
        epoch=Epoch(2),
        leader_id=NodeId(1),
        voters=[NodeId(1), NodeId(2), NodeId(3)],
        granting_voters=[NodeId(1), NodeId(2)],
        timestamp_ms=1_700_000_000_000,
    )


def _end_of_transaction(compression: Compression) -> bytes:
    markers = [
        Record(key=write_control_key(control_type), value=bytes.fromhex("0000 00000007"))
        for control_type in (ControlType.COMMIT, ControlType.ABORT, 99)
    ]
    return build_batch(
        markers, is_control=True, is_transactional=True, producer_id=5, producer_epoch=0, compression=compression
    )


def commit_of_write() -> bytes:
    """Return the batch by which a client commits a multipart write."""
    return write_commit_batch(
        WRITE_COMMIT, producer_id=FIRST_KEYED_PRODUCER_ID + 5, producer_epoch=0, base_sequence=3, timestamp_ms=5
    )


def _of_transactional_id() -> bytes:
    key = write_control_key(ControlType.TRANSACTIONAL_ID)
    record = Record(key=key, value=write_control_value(TRANSACTIONAL_ID))
    return build_batch([record], is_control=True, producer_id=17, producer_epoch=3)


def transactional_batches() -> Iterator[tuple[str, bytes]]:
    """Yield batches of open transactions, by name."""
    for name, producer_id in (("of a transaction", 17), ("of a part", FIRST_PART_PRODUCER_ID + 5)):
        yield (
            name,
            build_batch(_RECORDS, producer_id=producer_id, producer_epoch=0, base_sequence=3, is_transactional=True),
        )


def plain_batches() -> Iterator[tuple[str, bytes]]:
    """Yield batches of records with values only, by name: of every codec, and Kafka's."""
    for codec in Compression:
        yield f"ours, {codec.name.lower()}", build_batch(_COMPRESSIBLE, compression=codec)
    for batch in list(read_batches(kafka_bytes.SEGMENT))[2:]:
        yield "Kafka's", batch.payload


def rich_batches() -> Iterator[tuple[str, bytes]]:
    """Yield batches of records with keys and headers, by name: of every codec."""
    yield "of an idempotent producer", build_batch(_RECORDS, producer_id=7, producer_epoch=1, base_sequence=3)
    for codec, batch in CAUGHT.items():
        yield f"librdkafka's, {codec.name.lower()}", batch


def control_batches() -> Iterator[tuple[str, bytes]]:
    """Yield control batches of every type, by name."""
    yield "leader change", leader_change(3)
    for codec in (Compression.NONE, Compression.ZSTD):
        yield f"end of transaction, {codec.name.lower()}", _end_of_transaction(codec)
    for batch in (*list(read_batches(kafka_bytes.SEGMENT))[:2], *list(read_batches(kafka_bytes.BOOTSTRAP_SNAPSHOT))):
        yield "Kafka's control", batch.payload


def read_batch(data: bytes) -> None:
    """Read all of one batch: header, checksum, records and control records."""
    header = read_header(data)
    check_crc(data, 0, header.size_bytes)
    count = 0
    for record in read_records(data, max_bytes=MAX_DECOMPRESSED_BYTES):
        assert header.base_offset <= record.offset <= header.last_offset, "an offset outside of its batch"
        count += 1
    assert count == header.record_count, f"{count} records instead of {header.record_count}"
    if header.is_control:
        control_records = read_control_records(data)
        assert tuple(record.control_type for record in control_records) == header.control_types
        for control_record in control_records:
            control_record_to_json(control_record)


def read_value(content: bytes, *, control_type: ControlType) -> ControlValue:
    """Read the value of a control record of this project, write it and read it again."""
    value = read_control_value(control_type, content)
    assert value is not None, "a value of this project"
    assert read_control_value(control_type, write_control_value(value)) == value, "it changes when it is written"
    return value


def read_run(data: bytes) -> None:
    """Read several batches in a row, with their checksums as a follower, and by their headers alone."""
    prefix = read_good_prefix(data)
    assert sum(batch.header.size_bytes for batch in prefix.batches) <= len(data), "more batches than bytes"
    assert 0 <= take_until(data, 0, max_bytes=len(data), end_offset=Offset(1 << 62)) <= len(data)
    assert skip_to(data, Offset(5)) >= 0
    if prefix.damage is None:
        assert tuple(read_batches(data)) == prefix.batches, "the readers differ"


def sealed_mostly(random: Random, data: bytes) -> bytes:
    """Return the batch with correct length and checksum, four times of five; otherwise few would pass these checks."""
    return sealed(data) if len(data) >= HEADER.size and random.random() < 0.8 else data


def _batch_samples() -> Iterator[Sample]:
    of_ours = (("commit of a write", commit_of_write()), ("transactional id", _of_transactional_id()))
    for name, batch in (*plain_batches(), *rich_batches(), *transactional_batches(), *control_batches(), *of_ours):
        yield Sample(name=name, content=batch, decode=read_batch)


def _produced_samples() -> Iterator[Sample]:
    for is_strict in (False, True):
        decode = partial(read_produced_batch, max_batch_bytes=1 << 20, strict=is_strict)
        for kind, is_refused in ((plain_batches, False), (rich_batches, is_strict), (control_batches, True)):
            for name, batch in kind():
                yield Sample(name=f"{name}, strict={is_strict}", content=batch, decode=decode, is_refused=is_refused)
        for name, batch in (*transactional_batches(), ("commit of a write", commit_of_write())):
            yield Sample(name=f"{name}, strict={is_strict}", content=batch, decode=decode, is_refused=is_strict)


def _value_samples() -> Iterator[Sample]:
    values: tuple[tuple[ControlType, ControlValue], ...] = (
        (ControlType.WRITE_COMMIT, WRITE_COMMIT),
        (ControlType.TRANSACTIONAL_ID, TRANSACTIONAL_ID),
        (ControlType.TRANSACTIONAL_ID, TransactionalId(name="ordérs", timeout_ms=1, previous=None)),
    )
    for control_type, value in values:
        decode = partial(read_value, control_type=control_type)
        yield Sample(name=control_type.name, content=write_control_value(value), decode=decode)


def _run_samples() -> Iterator[Sample]:
    three = b"".join(build_batch(_RECORDS, base_offset=Offset(4 * at), epoch=Epoch(1)) for at in range(3))
    for name, run in (("plain", three), ("truncated", three[:-9]), ("Kafka's", kafka_bytes.SEGMENT)):
        yield Sample(name=name, content=run, decode=read_run)


def _compressed_samples() -> Iterator[Sample]:
    text = b"".join(b"leader %d of epoch %d, " % (at % 7, at // 7) for at in range(300))
    # It exceeds the limit, and a mutation may make it claim less.
    bomb = bytes(MAX_DECOMPRESSED_BYTES + 1)
    for codec in Compression:
        decode = partial(decompress, codec, max_bytes=MAX_DECOMPRESSED_BYTES)
        for name, data in (("text", text), ("nothing", b"")):
            yield Sample(name=f"{codec.name.lower()}, {name}", content=compress(codec, data), decode=decode)
    for codec in (Compression.GZIP, Compression.LZ4, Compression.ZSTD):
        decode = partial(decompress, codec, max_bytes=MAX_DECOMPRESSED_BYTES)
        yield Sample(
            name=f"{codec.name.lower()}, a bomb", content=compress(codec, bomb), decode=decode, is_refused=True
        )
    members = compress(Compression.GZIP, b"") * 50 + compress(Compression.GZIP, text)
    decode = partial(decompress, Compression.GZIP, max_bytes=MAX_DECOMPRESSED_BYTES)
    yield Sample(name="gzip, many members", content=members, decode=decode)


RECORD_DECODERS = (
    Decoder(
        name="batches",
        samples=tuple(_batch_samples()),
        refusals=(DecodeError,),
        bound=_BOUND,
        repair=sealed_mostly,
        share=4,
    ),
    Decoder(name="control values", samples=tuple(_value_samples()), refusals=(DecodeError,), bound=_VALUE_BOUND),
    Decoder(name="runs of batches", samples=tuple(_run_samples()), refusals=(DecodeError,), bound=_BOUND),
    Decoder(
        name="produced batches",
        samples=tuple(_produced_samples()),
        refusals=(RequestError,),
        bound=_STRICT_BOUND,
        repair=sealed_mostly,
    ),
    Decoder(
        name="compressed records", samples=tuple(_compressed_samples()), refusals=(DecodeError,), bound=_BOUND, share=2
    ),
)
