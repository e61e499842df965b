"""Finding the parts of records by the column: one Python loop finds where records begin, numpy does the rest.

Every step is checked before the next one relies on it, so that no input makes it read elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from datasource.columns.kernel import Outcome, refused_record
from datasource.columns.varints import Flags, Integers, Octets, UnsoundError, bounds, read_varints, require
from datasource.columns.walk import Batches
from raft.errors import DecodeError
from raft.records.varint import read_varint

SMALLEST_RECORD = 7
"""Bytes: one each for length, attributes, both deltas, the lengths of key and value, and the count of headers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """Byte strings in the input, in ascending order: where each begins, and its length, -1 for null."""

    starts: Integers
    lengths: Integers

    def __getitem__(self, wanted: Flags) -> Values:
        return Values(starts=self.starts[wanted], lengths=self.lengths[wanted])

    def to_array(self, octets: Octets) -> pa.Array:
        """Copy them into a binary array."""
        # In an array that lies over the input, every other value is one of these; between them is what is between.
        edges = np.stack([self.starts, self.starts + np.maximum(self.lengths, 0)], axis=1).reshape(-1)
        buffers = [None, pa.py_buffer(edges), pa.py_buffer(octets)]
        overlay = pa.Array.from_buffers(pa.large_binary(), max(len(edges) - 1, 0), buffers)
        chosen = pa.array(np.arange(0, len(edges), 2), mask=self.lengths < 0)
        return overlay.take(chosen).cast(pa.binary())


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """All records of some batches, by the column.

    Fields:
        owners: index of the batch that each record is in.
        indices: index of each record in its batch.
        timestamp_deltas_ms, offset_deltas: from the bases of the batch.
        keys, values: one each a record.
        header_counts: how many headers each record has.
        header_keys, header_values: of all headers, record by record.
    """

    owners: Integers
    indices: Integers
    timestamp_deltas_ms: Integers
    offset_deltas: Integers
    keys: Values
    values: Values
    header_counts: Integers
    header_keys: Values
    header_values: Values


def read_records(data: bytes, octets: Octets, batches: Batches) -> Records:
    """Read all records of the batches.

    Args:
        data: what the batches point into.
        octets: the same.
        batches: not compressed.

    Raises:
        DecodeError: a record is malformed, or offsets do not rise inside of their batch.
    """
    counts = batches["record_count"]
    _require_plausible(batches)
    owners = np.repeat(np.arange(len(batches)), counts)
    indices = np.arange(len(owners)) - np.repeat(bounds(counts)[:-1], counts)
    outcome = Outcome.RECORD_MALFORMED
    try:
        starts, ends = _find_records(data, batches)
        lengths, bodies = read_varints(octets, starts, ends, bits=32)
        require((lengths >= 1) & (lengths == ends - bodies))
        # The byte in front holds the attributes of the record, which have no meaning yet.
        timestamp_deltas_ms, positions = read_varints(octets, bodies + 1, ends, bits=64)
        offset_deltas, positions = read_varints(octets, positions, ends, bits=32)
        keys, positions = _read_values(octets, positions, ends)
        values, positions = _read_values(octets, positions, ends)
        header_counts, positions = read_varints(octets, positions, ends, bits=32)
        require((header_counts >= 0) & (header_counts <= ends - positions))
        header_keys, header_values, positions = _read_headers(octets, header_counts, positions, ends)
        require(positions == ends)
        outcome = Outcome.OFFSETS_DISORDERED
        previous = np.where(indices == 0, -1, np.roll(offset_deltas, 1))
        require((previous < offset_deltas) & (offset_deltas <= batches["last_offset_delta"][owners]))
    except UnsoundError as error:
        base_offset = int(batches["base_offset"][owners[error.index]])
        raise refused_record(outcome, base_offset=base_offset, index=int(indices[error.index])) from None
    return Records(
        owners=owners,
        indices=indices,
        timestamp_deltas_ms=timestamp_deltas_ms,
        offset_deltas=offset_deltas,
        keys=keys,
        values=values,
        header_counts=header_counts,
        header_keys=header_keys,
        header_values=header_values,
    )


def _require_plausible(batches: Batches) -> None:
    """Refuse batches with more records than they have room for, which are not worth a loop; and none in some room."""
    counts, sizes = batches["record_count"], batches["records_end"] - batches["records_start"]
    is_plausible = (counts <= sizes // SMALLEST_RECORD) & ((counts > 0) | (sizes == 0))
    if not is_plausible.all():
        base_offset = int(batches["base_offset"][np.argmin(is_plausible)])
        raise refused_record(Outcome.RECORD_MALFORMED, base_offset=base_offset, index=0)


def _find_records(data: bytes, batches: Batches) -> tuple[Integers, Integers]:
    """Return where each record begins if the lengths before it are right, and where the next one or the batch ends.

    Nothing is checked here but that it ends; if a length is wrong, it is not the distance to the end.
    """
    starts: list[int] = []
    positions, counts = batches["records_start"].tolist(), batches["record_count"].tolist()
    for position, count in zip(positions, counts, strict=True):
        try:
            _follow_lengths(data, position, count, starts)
        except (IndexError, DecodeError):
            raise UnsoundError(len(starts) - 1) from None
    begins = np.array(starts, np.int64)
    ends = np.roll(begins, -1)
    has_records = batches["record_count"] > 0
    ends[bounds(batches["record_count"])[1:][has_records] - 1] = batches["records_end"][has_records]
    return begins, ends


def _follow_lengths(data: bytes, position: int, count: int, starts: list[int]) -> None:
    """Append where `count` records begin, the first at `position`."""
    # The one loop in Python over every record, so lengths of one and of two bytes are read on the spot.
    for _ in range(count):
        starts.append(position)
        byte = data[position]
        if byte < 0x80:
            position += 1 + (byte >> 1)
            continue
        second = data[position + 1]
        if second < 0x80:
            position += 2 + (((byte & 0x7F) | second << 7) >> 1)
            continue
        length, position = read_varint(data, position)
        position += length


def _read_values(octets: Octets, positions: Integers, limits: Integers) -> tuple[Values, Integers]:
    lengths, starts = read_varints(octets, positions, limits, bits=32)
    require((lengths >= -1) & (lengths <= limits - starts))
    return Values(starts=starts, lengths=lengths), starts + np.maximum(lengths, 0)


def _read_headers(
    octets: Octets, counts: Integers, positions: Integers, limits: Integers
) -> tuple[Values, Values, Integers]:
    """Read the headers of all records: the first of each, then the second of those that have one, and so on."""
    firsts = bounds(counts)
    keys, values = (Values(starts=np.empty(firsts[-1], np.int64), lengths=np.empty(firsts[-1], np.int64)) for _ in "kv")
    for number in range(int(counts.max(initial=0))):
        records = np.flatnonzero(counts > number)
        try:
            key, after_key = _read_values(octets, positions[records], limits[records])
            require(key.lengths >= 0)
            value, after_value = _read_values(octets, after_key, limits[records])
        except UnsoundError as error:
            raise UnsoundError(int(records[error.index])) from None
        at = firsts[records] + number
        keys.starts[at], keys.lengths[at] = key.starts, key.lengths
        values.starts[at], values.lengths[at] = value.starts, value.lengths
        positions[records] = after_value
    return keys, values, positions
