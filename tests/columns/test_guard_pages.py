"""The compiled kernel reads and writes no byte outside of its arguments, whatever bytes it is given.

Inputs, and the encoder's output, end right before a page without access, so touching one byte too many ends the
process. Behind the decoder's outputs are bytes that must not change. A process that ends this way prints no seed, so
the seed is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

from datasource.columns import decode
from datasource.columns.kernel import Kernel
from datasource.columns.rows import Rows
from raft.errors import DecodeError
from tests.columns.batches import HEADER_SIZE, NOW_MS, batch_of_rows
from tests.columns.guarded_memory import GuardedMemory
from tests.columns.rows import Row, rows_to_write
from tests.node.harness.batches import sealed

SEED = 1
"""Another seed tests other inputs."""

INPUT_COUNT = 10_000
COMPARED_EVERY = 5
"""How often an input goes to the other kernel too, which takes many times longer."""

CANARY = 0xA5
CANARY_SIZE = 64

EDGE_BYTES = (0x00, 0x01, 0x02, 0x03, 0x0F, 0x10, 0x7F, 0x80, 0xFE, 0xFF)


class Canaries:
    """Stands in for `pa.allocate_buffer`: behind each buffer are bytes that must not change."""

    def __init__(self) -> None:
        self._allocate = pa.allocate_buffer
        self._buffers: list[tuple[pa.Buffer, int]] = []

    def allocate_buffer(self, size: int) -> pa.Buffer:
        buffer = self._allocate(size + CANARY_SIZE)
        np.frombuffer(buffer, np.uint8)[size:] = CANARY
        self._buffers.append((buffer, size))
        return buffer.slice(0, size)

    def check(self) -> int:
        """Check all buffers since the last call, and return their number."""
        buffers, self._buffers = self._buffers, []
        for buffer, size in buffers:
            assert (np.frombuffer(buffer, np.uint8)[size:] == CANARY).all()
        return len(buffers)


@pytest.fixture
def canaries(monkeypatch: pytest.MonkeyPatch) -> Canaries:
    canaries = Canaries()
    monkeypatch.setattr(pa, "allocate_buffer", canaries.allocate_buffer)
    return canaries


@pytest.fixture
def random() -> Random:
    return Random(SEED)


def random_rows(random: Random, count: int, *, offset: int = 0) -> list[Row]:
    def content(largest: int) -> bytes | None:
        return None if random.random() < 0.2 else random.randbytes(random.randrange(largest + 1))

    return [
        Row(
            key=content(12),
            value=content(90),
            offset=offset + index,
            timestamp_ms=NOW_MS + random.randrange(-100, 100_000),
            epoch=1,
            headers=tuple(("h" * random.randrange(4), content(9)) for _ in range(random.choice([0, 0, 1, 2]))),
        )
        for index in range(count)
    ]


def bent(random: Random, batch: bytes) -> bytes:
    """Return the batch with some bytes under the checksum changed, and a right checksum, so that they are decoded."""
    changed = bytearray(batch)
    kind = random.randrange(5)
    if kind == 0:
        for _ in range(random.randrange(1, 4)):
            changed[random.randrange(HEADER_SIZE, len(changed))] ^= 1 << random.randrange(8)
    elif kind == 1:
        for _ in range(random.randrange(1, 6)):
            changed[random.randrange(HEADER_SIZE, len(changed))] = random.choice(EDGE_BYTES)
    elif kind == 2:
        del changed[random.randrange(HEADER_SIZE, len(changed)) :]
    elif kind == 3:
        # Varints that are too long, or as long as they may be.
        at = random.randrange(HEADER_SIZE, len(changed))
        length = random.randrange(1, 11)
        changed[at : at + length] = b"\xff" * (length - 1) + bytes([random.choice(EDGE_BYTES)])
    else:
        # The last offset delta, the timestamps, and the record count.
        at = random.choice([*range(23, 43), *range(57, HEADER_SIZE)])
        changed[at] = random.choice(EDGE_BYTES)
    return sealed(changed)


def outcome_of(
    data: bytes, kernel: Kernel, start_offset: int, end_offset: int, headers: bool
) -> list[pa.RecordBatch] | str:
    """Return the rows, or why they are refused."""
    try:
        decoded = decode(data, start_offset=start_offset, end_offset=end_offset, headers=headers, kernel=kernel)
        return list(decoded.record_batches)
    except DecodeError as refusal:
        return str(refusal)


def test_decoder_stays_inside_of_any_input(
    compiled: Kernel, python: Kernel, canaries: Canaries, random: Random
) -> None:
    memory = GuardedMemory(8)
    sources = [
        [batch_of_rows(random_rows(random, count, offset=index * 20)) for index in range(batches)]
        for count, batches in ((1, 1), (2, 1), (3, 2), (20, 1), (9, 3), (20, 6))
    ]
    accepted_count = buffer_count = 0

    for number in range(INPUT_COUNT):
        batches = list(random.choice(sources))
        chosen = random.randrange(len(batches))
        batches[chosen] = bent(random, batches[chosen])
        data = b"".join(batches)[: memory.size]
        start_offset, end_offset = random.choice([(0, 1 << 60), (random.randrange(30), random.randrange(90))])
        headers = random.random() < 0.7
        placed = cast("bytes", memory.place(data, at_end=random.random() < 0.8).data)

        outcome = outcome_of(placed, compiled, start_offset, end_offset, headers)

        buffer_count += canaries.check()
        if not isinstance(outcome, str):
            accepted_count += 1
            for record_batch in outcome:
                record_batch.validate(full=True)
        if number % COMPARED_EVERY == 0:
            assert outcome == outcome_of(data, python, start_offset, end_offset, headers)

    # The test proves nothing if all inputs, or none, are refused.
    assert 0.1 * INPUT_COUNT < accepted_count < 0.9 * INPUT_COUNT
    assert buffer_count > accepted_count


def parts_of(rows: Rows) -> dict[str, pa.Array]:
    """Return the arrays of rows that hold something, by the names of their fields."""
    names = ("value", "key", "header_lists", "header_keys", "header_values", "timestamps_ms")
    return {name: array for name in names if (array := getattr(rows, name)) is not None and len(array)}


def is_a_list(array: pa.Array) -> bool:
    return bool(pa.types.is_list(array.type) or pa.types.is_large_list(array.type))


def offset_size(array: pa.Array) -> int:
    return 8 if pa.types.is_large_list(array.type) or array.type in (pa.large_binary(), pa.large_string()) else 4


def own_buffers(array: pa.Array) -> list[pa.Buffer | None]:
    """Return the array's buffers without those of its children."""
    buffers: list[pa.Buffer | None] = array.buffers()
    return buffers[:2] if is_a_list(array) else buffers


def rebuilt(array: pa.Array, buffers: list[pa.Buffer | None]) -> pa.Array:
    """Return the array over other buffers."""
    children = [array.values] if is_a_list(array) else None
    return pa.Array.from_buffers(array.type, len(array), buffers, offset=array.offset, children=children)


class GuardedArrays:
    """Puts the buffers of arrays next to pages without access, each into separate memory."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._memories = [GuardedMemory(4) for _ in range(16)]
        self._free: Iterator[GuardedMemory] = iter(())

    def move_rows(self, rows: Rows) -> Rows:
        """Return equal rows; those moved before are overwritten."""
        self._free = iter(self._memories)
        return replace(rows, **{name: self._move(array) for name, array in parts_of(rows).items()})

    def _move(self, array: pa.Array) -> pa.Array:
        """Return an equal array whose buffers are as small as they may be."""
        end = array.offset + len(array)
        if array.type == pa.int64():
            numbers = self._buffer(array.buffers()[1], end * 8)
            return pa.Array.from_buffers(array.type, len(array), [None, numbers], offset=array.offset)
        validity, offsets, *data = own_buffers(array)
        moved = [
            self._buffer(validity, (end + 7) // 8),
            self._buffer(offsets, (end + 1) * offset_size(array)),
            *(self._buffer(part, part.size) for part in data if part is not None),
        ]
        return rebuilt(array, moved)

    def _buffer(self, buffer: pa.Buffer | None, size: int) -> pa.Buffer | None:
        if buffer is None:
            return None
        return pa.py_buffer(next(self._free).place(buffer.to_pybytes()[:size], at_end=self._random.random() < 0.8))


def random_slice(random: Random) -> pa.RecordBatch:
    """Return a slice of rows, with the types that Spark passes."""
    types = random.choice([(pa.binary(), pa.string()), (pa.large_binary(), pa.large_string())])
    whole = rows_to_write(random_rows(random, random.randrange(1, 30)))
    start = random.randrange(whole.num_rows)
    header = pa.struct([("key", types[1]), ("value", types[0])])
    headers = whole.column("headers").cast(random.choice([pa.list_, pa.large_list])(header))
    columns = {"key": whole.column("key").cast(types[0]), "value": whole.column("value").cast(types[0])}
    if random.random() < 0.7:
        columns["headers"] = headers
    if random.random() < 0.2:
        del columns["key"]
    if random.random() < 0.5:
        times_ms = [random.choice([0, NOW_MS, random.randrange(1 << 53)]) for _ in range(whole.num_rows)]
        columns["timestamp"] = pa.array(times_ms, pa.int64()).cast(pa.timestamp("ms"))
    return pa.record_batch(columns).slice(start, random.randrange(1, 30))


def misdirected(random: Random, array: pa.Array) -> pa.Array:
    """Return the array with one of its offsets changed; not the outermost, which pyarrow itself checks."""
    validity, offsets_buffer, *data = own_buffers(array)
    assert offsets_buffer is not None
    offsets = np.frombuffer(offsets_buffer, np.int64 if offset_size(array) == 8 else np.int32).copy()
    at = array.offset + random.randrange(1, len(array))
    offsets[at] = random.choice([-1, -(2**31), 2**31 - 1, 1, offsets[at] + 1, offsets[at] - 1])
    return rebuilt(array, [validity, pa.py_buffer(offsets), *data])


def encoded(rows: Rows, kernel: Kernel, first_offset_delta: int, output: npt.NDArray[np.uint8]) -> bytes:
    kernel.encode(rows, first_offset_delta=first_offset_delta, output=output)
    return output.tobytes()


def test_encoder_stays_inside_of_any_slice(compiled: Kernel, python: Kernel, random: Random) -> None:
    arrays, outputs = GuardedArrays(random), GuardedMemory(8)

    for number in range(INPUT_COUNT // 4):
        record_batch, first_offset_delta = random_slice(random), random.choice([0, 60, 8190])
        rows = Rows.of(record_batch)
        guarded = arrays.move_rows(rows)

        size = compiled.encoded_size(guarded, first_offset_delta=first_offset_delta)
        output = outputs.room(size, at_end=random.random() < 0.5)
        records = encoded(guarded, compiled, first_offset_delta, output)

        if number % COMPARED_EVERY == 0:
            assert python.encoded_size(rows, first_offset_delta=first_offset_delta) == size
            assert records == encoded(rows, python, first_offset_delta, np.empty(size, np.uint8))


def test_encoder_refuses_offsets_that_point_outside(compiled: Kernel, random: Random) -> None:
    arrays, outputs = GuardedArrays(random), GuardedMemory(8)
    refused_count = 0

    for _ in range(INPUT_COUNT // 4):
        rows = Rows.of(random_slice(random))
        parts = parts_of(rows).items()
        candidates = [(name, array) for name, array in parts if len(array) > 1 and name != "timestamps_ms"]
        if not candidates:
            continue
        name, array = random.choice(candidates)
        guarded = arrays.move_rows(replace(rows, **{name: misdirected(random, array)}))

        try:
            size = compiled.encoded_size(guarded, first_offset_delta=0)
        except ValueError:
            refused_count += 1
        else:
            # Values may overlap, so that there is more to write than there was to read.
            if size <= outputs.size:
                encoded(guarded, compiled, 0, outputs.room(size, at_end=True))

    assert 0.1 * INPUT_COUNT / 4 < refused_count < INPUT_COUNT / 4


GOING_BACK = pa.py_buffer(np.array([0, 3, 0, 2], np.int32))
"""Offsets by which the second value would have a length of -3."""


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param(
            Rows(row_count=3, value=pa.Array.from_buffers(pa.binary(), 3, [None, GOING_BACK, pa.py_buffer(b"abc")])),
            id="values",
        ),
        pytest.param(
            Rows(
                row_count=3,
                value=pa.array([b"v"] * 3),
                header_lists=pa.Array.from_buffers(
                    pa.list_(pa.int8()), 3, [None, GOING_BACK], children=[pa.array([1, 2, 3], pa.int8())]
                ),
                header_keys=pa.array(["a", "b", "c"]),
                header_values=pa.array([b"a", b"b", b"c"]),
            ),
            id="lists of headers",
        ),
    ],
)
def test_encoder_refuses_offsets_that_go_back(compiled: Kernel, rows: Rows) -> None:
    with pytest.raises(ValueError, match="offsets outside of its data"):
        compiled.encoded_size(rows, first_offset_delta=0)


@pytest.mark.parametrize("difference", [-1, 1], ids=["smaller", "larger"])
def test_encoder_writes_into_nothing_but_the_exact_room(compiled: Kernel, difference: int) -> None:
    rows = Rows(row_count=2, value=pa.array([b"abc", b"de"]))
    size = compiled.encoded_size(rows, first_offset_delta=0)

    with pytest.raises(AssertionError, match="the output is "):
        compiled.encode(rows, first_offset_delta=0, output=GuardedMemory(1).room(size + difference, at_end=True))
