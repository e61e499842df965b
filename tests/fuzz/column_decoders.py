"""Fetch responses as Arrow columns: the kernels in C and in Python must agree on any bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

import pyarrow as pa

from datasource.columns import decode
from datasource.columns.kernel import KERNEL, Kernel
from raft.client import AbortedFilter, AbortedTransaction
from raft.errors import CorruptBatchError, DecodeError
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.control_key import write_control_key
from raft.records.header import read_header
from raft.records.header_fields import with_base_offset_and_epoch
from raft.records.record import Record
from raft.types import FIRST_PART_PRODUCER_ID, ControlType, Epoch, Offset
from tests.columns.batches import NOW_MS
from tests.fuzz import kafka_bytes
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.fuzz.record_decoders import MAX_DECOMPRESSED_BYTES, commit_of_write, leader_change
from tests.node.harness.batches import sealed
from tests.oracles.kernel import PythonKernel
from tests.records.librdkafka_batches import CAUGHT

EVERYTHING = 2**63 - 1

_LENGTH_AT = 8
_LENGTH_END = 12
_SMALLEST_BATCH = 61

_PER_BYTE = 64
"""The kernel in Python keeps a tuple of six values for each record, and a record has at least 7 bytes."""

_BOUND = MemoryBound(fixed_bytes=(256 << 10) + _PER_BYTE * MAX_DECOMPRESSED_BYTES, per_byte=_PER_BYTE)
"""Decompressed records count as input as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """The arguments of one decoding."""

    start_offset: int = 0
    end_offset: int = EVERYTHING
    headers: bool = False
    control: bool = False
    aborted: tuple[AbortedTransaction, ...] = ()

    def ask(self, data: bytes, kernel: Kernel) -> list[pa.RecordBatch] | DecodeError | CorruptBatchError:
        """Return the rows that a kernel decodes, or its error."""
        try:
            decoded = decode(
                data,
                start_offset=self.start_offset,
                end_offset=self.end_offset,
                headers=self.headers,
                control=self.control,
                aborted=AbortedFilter(self.aborted) if self.aborted else None,
                max_decompressed_bytes=MAX_DECOMPRESSED_BYTES,
                kernel=kernel,
            )
            return list(decoded.record_batches)
        except (DecodeError, CorruptBatchError) as refusal:
            return refusal


@dataclass(frozen=True, slots=True)
class BothKernels:
    """Decodes with both kernels, and compares the results."""

    compiled: Kernel
    python: Kernel
    query: Query

    def __call__(self, data: bytes) -> object:
        """Return the rows.

        Raises:
            DecodeError, CorruptBatchError: both refuse.
            AssertionError: they differ, or the rows are invalid Arrow data.
        """
        outcome = self.query.ask(data, self.compiled)
        other = self.query.ask(data, self.python)
        if isinstance(outcome, Exception):
            assert repr(other) == repr(outcome), f"compiled and Python differ: {outcome} and {other}"
            raise outcome
        assert outcome == other, f"compiled and Python differ: {outcome} and {other}"
        for record_batch in outcome:
            record_batch.validate(full=True)
        return outcome


def _responses() -> Iterator[tuple[str, bytes]]:
    records = [
        Record(
            key=b"k" * (at % 3) or None,
            value=None if at % 5 == 4 else b"value %d" % at * (at % 4),
            headers=(("trace", b"x"), ("none", None))[: at % 3],
            timestamp_ms=NOW_MS + at,
        )
        for at in range(12)
    ]
    plain = [build_batch(records, base_offset=Offset(base), epoch=Epoch(1)) for base in (0, 12, 30)]
    yield "one batch", plain[0]
    yield "three batches", b"".join(plain)
    yield "truncated", b"".join(plain)[:-30]
    yield "with control", plain[0] + leader_change(12) + plain[2]
    yield "of one record each", b"".join(build_batch(records[:1], base_offset=Offset(base)) for base in range(4))
    yield "Kafka's", kafka_bytes.SEGMENT
    for codec in Compression:
        yield f"librdkafka's, {codec.name.lower()}", CAUGHT[codec]
    yield "compressed and not", plain[0] + build_batch(records, base_offset=Offset(12), compression=Compression.LZ4)


def _of_transactions() -> bytes:
    """Return a response with records of two aborted transactions, of a committed one, and of a write."""
    part = FIRST_PART_PRODUCER_ID + 5
    batches = (
        _transactional(17, Record(value=b"aborted")),
        _transactional(part, Record(value=b"of a part"), Record(value=b"of a part")),
        _marker(ControlType.ABORT, 17),
        _transactional(17, Record(value=b"committed", key=b"k")),
        commit_of_write(),
        _marker(ControlType.COMMIT, part),
        _marker(ControlType.COMMIT, 17),
        _transactional(17, Record(value=b"aborted", headers=(("trace", b"x"),))),
    )
    placed, offset = [], 0
    for batch in batches:
        placed.append(with_base_offset_and_epoch(batch, Offset(offset), Epoch(1)))
        offset += read_header(batch).record_count
    return b"".join(placed)


def _transactional(producer_id: int, *records: Record) -> bytes:
    return build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=3, is_transactional=True)


def _marker(end: ControlType, producer_id: int) -> bytes:
    record = Record(key=write_control_key(end), value=bytes(6))
    return build_batch([record], producer_id=producer_id, producer_epoch=0, is_control=True, is_transactional=True)


_ABORTED = (
    AbortedTransaction(17, Offset(0)),
    AbortedTransaction(17, Offset(8)),
    AbortedTransaction(99, Offset(1)),
    AbortedTransaction(FIRST_PART_PRODUCER_ID + 6, Offset(1)),
)

_QUERIES = (
    Query(),
    Query(headers=True),
    Query(headers=True, control=True),
    Query(start_offset=5, end_offset=9, headers=True),
)


def _samples() -> Iterator[Sample]:
    compiled, python = KERNEL, PythonKernel()
    for name, data in _responses():
        for query in _QUERIES:
            yield Sample(name=f"{name}, {query}", content=data, decode=BothKernels(compiled, python, query))
    for query in (Query(aborted=_ABORTED), Query(aborted=_ABORTED, control=True, headers=True), Query(start_offset=4)):
        yield Sample(
            name=f"of transactions, {query}", content=_of_transactions(), decode=BothKernels(compiled, python, query)
        )


def sealed_throughout(random: Random, data: bytes) -> bytes:
    """Return the response with correct checksums of its batches, four times of five."""
    if random.random() < 0.2:
        return data
    parts = []
    while len(data) >= _SMALLEST_BATCH:
        size = _LENGTH_END + int.from_bytes(data[_LENGTH_AT:_LENGTH_END], "big", signed=True)
        # A batch with an impossible length is taken to the end.
        if not _SMALLEST_BATCH <= size <= len(data):
            size = len(data)
        parts.append(sealed(data[:size]))
        data = data[size:]
    return b"".join((*parts, data))


COLUMN_DECODERS = (
    Decoder(
        name="columns",
        samples=tuple(_samples()),
        refusals=(DecodeError, CorruptBatchError),
        bound=_BOUND,
        repair=sealed_throughout,
        share=4,
    ),
)
