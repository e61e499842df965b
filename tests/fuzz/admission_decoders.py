"""The check of appended batches: the scanner agrees with its oracle, and every reader can read an accepted batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from datasource.columns import decode
from raft.errors import DecodeError, RequestError
from raft.records.batch import build_batch, read_records
from raft.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from raft.records.header import read_header
from raft.records.produced import read_produced_batch
from raft.records.scanner import check_records, find_first
from raft.records.section import section_of
from raft.types import FIRST_KEYED_PRODUCER_ID, Offset
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.fuzz.record_decoders import (
    MAX_DECOMPRESSED_BYTES,
    plain_batches,
    rich_batches,
    sealed_mostly,
    transactional_batches,
)
from tests.oracles.scanner import PythonScanner, Scanner
from tests.records.samples import RICH

EVERYTHING = Offset(2**63 - 1)

_BOUND = MemoryBound(fixed_bytes=(256 << 10) + 3 * DEFAULT_MAX_DECOMPRESSED_BYTES, per_byte=64)
"""Includes the decompressed records, and what readers make of them."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Checks a batch as a leader does, and reads it as followers and clients do."""

    oracle: Scanner

    def __call__(self, data: bytes) -> None:
        """Check a batch and read it.

        Raises:
            RequestError: the batch is refused.
            AssertionError: the scanners differ, or a reader cannot read an accepted batch.
        """
        self._compare_scanners(data)
        batch = read_produced_batch(data, max_batch_bytes=1 << 20)
        try:
            count = sum(1 for _ in read_records(data))
            decoded = decode(data, start_offset=0, end_offset=EVERYTHING, headers=True)
            rows = sum(record_batch.num_rows for record_batch in decoded.record_batches)
        except DecodeError as error:
            raise AssertionError(f"accepted, but not readable: {error}") from error
        assert count == rows == batch.header.record_count, f"{count} records, {rows} rows"

    def _compare_scanners(self, data: bytes) -> None:
        try:
            section = section_of(data, read_header(data), max_decompressed_bytes=MAX_DECOMPRESSED_BYTES)
        except DecodeError:
            return
        checked = check_records(section, with_checksum=True)
        other = self.oracle.check_records(section, with_checksum=True)
        assert checked == other, f"compiled and Python differ: {checked} and {other}"
        timestamp_ms = section.base_timestamp_ms + 1
        if timestamp_ms < 1 << 63:
            found, other_found = find_first(section, timestamp_ms), self.oracle.find_first(section, timestamp_ms)
            assert found == other_found, f"compiled and Python differ: {found} and {other_found}"


def _samples() -> Iterator[Sample]:
    admission = Admission(PythonScanner())
    keyed = build_batch(RICH[:3], producer_id=FIRST_KEYED_PRODUCER_ID + 7, producer_epoch=0, base_sequence=3)
    for name, batch in (*plain_batches(), *rich_batches(), *transactional_batches(), ("of a keyed write", keyed)):
        yield Sample(name=name, content=batch, decode=admission)


ADMISSION_DECODERS = (
    Decoder(
        name="admitted batches",
        samples=tuple(_samples()),
        refusals=(RequestError,),
        bound=_BOUND,
        repair=sealed_mostly,
        share=4,
    ),
)
