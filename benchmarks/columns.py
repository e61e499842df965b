"""What the conversion of a row between Kafka record batches and Arrow costs: `python -m benchmarks.columns [--quick]`.

Each case is run by the compiled kernel, by the one in Python that tests compare it with, and by the compiled reader and
builder of aiokafka, which create Python objects for each record; its results are lists, and are not converted to Arrow.
They take turns, so that a busy machine affects all of them; the median processor time of the turns is shown. All
compute checksums.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from datasource.columns import decode, encode_batch
from datasource.columns.kernel import KERNEL, Kernel
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset
from tests.oracles.kernel import PythonKernel

NOW_MS = 1_760_000_000_000
NO_LIMIT = 1 << 30
END_OFFSET = 1 << 62

KERNELS: dict[str, Kernel] = {"compiled": KERNEL, "python": PythonKernel()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Sizes of rows and batches.

    Fields:
        name: the label in the table.
        batch_rows: rows in each record batch.
        batch_count: batches that are decoded in one call.
        key_bytes, value_bytes: the sizes of key and value; no key if None.
        header_count: how many headers each row has.
    """

    name: str
    batch_rows: int
    batch_count: int = 1
    key_bytes: int | None = 10
    value_bytes: int = 100
    header_count: int = 0

    def records(self) -> list[Record]:
        """Return the rows of one batch."""
        headers = (("trace-id", b"0123456789abcdef"), ("content-type", b"json"))[: self.header_count]
        key = None if self.key_bytes is None else b"k" * self.key_bytes
        return [
            Record(key=key, value=bytes([97 + index % 26]) * self.value_bytes, headers=headers, timestamp_ms=NOW_MS)
            for index in range(self.batch_rows)
        ]


SHAPES = (
    Shape(name="1 MB batches", batch_rows=8700),
    Shape(name="64 batches of 16 KB", batch_rows=136, batch_count=64),
    Shape(name="one batch of 16 KB", batch_rows=136),
    Shape(name="1 MB, small rows", batch_rows=43000, key_bytes=None, value_bytes=16),
    Shape(name="1 MB, two headers", batch_rows=6300, header_count=2),
)


def read_by_aiokafka(data: bytes) -> list[list[object]]:
    """Read all records into lists, as a consumer that needs columns must do."""
    keys: list[object] = []
    values: list[object] = []
    offsets: list[object] = []
    timestamps_ms: list[object] = []
    headers: list[object] = []
    batches = MemoryRecords(data)
    while (batch := batches.next_batch()) is not None:
        assert batch.validate_crc()
        for record in batch:
            keys.append(record.key)
            values.append(record.value)
            offsets.append(record.offset)
            timestamps_ms.append(record.timestamp)
            headers.append(record.headers)
    return [keys, values, offsets, timestamps_ms, headers]


def write_by_aiokafka(rows: pa.RecordBatch) -> bytes:
    """Build one batch of Arrow rows, as a producer that gets columns must do."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, NO_LIMIT)
    columns = [rows.column(name).to_pylist() for name in ("key", "value", "headers")]
    for index, (key, value, headers) in enumerate(zip(*columns, strict=True)):
        builder.append(index, NOW_MS, key, value, [(header["key"], header["value"]) for header in headers or ()])
    return bytes(builder.build())


def decoders(shape: Shape) -> dict[str, Callable[[], object]]:
    """Return the decoders by name."""
    records = shape.records()
    data = b"".join(
        build_batch(records, base_offset=Offset(index * shape.batch_rows)) for index in range(shape.batch_count)
    )

    def by_columns(kernel: Kernel) -> Callable[[], object]:
        has_headers = shape.header_count > 0
        return lambda: list(
            decode(data, start_offset=0, end_offset=END_OFFSET, headers=has_headers, kernel=kernel).record_batches
        )

    return {name: by_columns(kernel) for name, kernel in KERNELS.items()} | {"aiokafka": lambda: read_by_aiokafka(data)}


def encoders(shape: Shape) -> dict[str, Callable[[], object]]:
    """Return the encoders by name; each makes one batch, whatever the number of batches of the shape."""
    header = pa.struct([("key", pa.string()), ("value", pa.binary())])
    records = shape.records()
    headers = [[{"key": key, "value": value} for key, value in record.headers] or None for record in records]
    rows = pa.record_batch(
        {
            "key": pa.array([record.key for record in records], pa.binary()),
            "value": pa.array([record.value for record in records], pa.binary()),
            "headers": pa.array(headers, pa.list_(header)),
        }
    )

    def by_columns(kernel: Kernel) -> Callable[[], object]:
        return lambda: encode_batch(rows, producer_id=None, timestamp_ms=NOW_MS, max_bytes=NO_LIMIT, kernel=kernel)

    return {name: by_columns(kernel) for name, kernel in KERNELS.items()} | {
        "aiokafka": lambda: write_by_aiokafka(rows)
    }


def cpu_time_ns(candidates: dict[str, Callable[[], object]], *, budget_s: float) -> dict[str, float]:
    """Return the median time of a call of each candidate; they take turns until the time is used up."""
    for candidate in candidates.values():
        candidate()
    times: dict[str, list[int]] = {name: [] for name in candidates}
    end = time.monotonic() + budget_s
    while time.monotonic() < end:
        for name, candidate in candidates.items():
            start = time.process_time_ns()
            candidate()
            times[name].append(time.process_time_ns() - start)
    return {name: statistics.median(measured) for name, measured in times.items()}


def measure(title: str, candidates: dict[str, Callable[[], object]], row_count: int, budget_s: float) -> None:
    """Print one line of the table."""
    times_ns = cpu_time_ns(candidates, budget_s=budget_s)
    cells = []
    for name in candidates:
        rows_per_us, ratio = row_count / times_ns[name] * 1e3, times_ns["aiokafka"] / times_ns[name]
        cells.append(f"{times_ns[name] / row_count:6.0f} ns {rows_per_us:6.2f} M/s x{ratio:<5.1f}")
    print(f"{title:28}", *cells, sep=" | ")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a table: time a row, rows a second, and how many times aiokafka's speed that is."""
    parser = argparse.ArgumentParser(description="Cost of a row between Kafka record batches and Arrow.")
    parser.add_argument("--quick", action="store_true", help="three seconds instead of a minute")
    budget_s = 0.2 if parser.parse_args(arguments).quick else 6.0
    print(f"Python {platform.python_version()}, pyarrow {pa.__version__}, {platform.machine()}; CPU time a row")
    print(f"{'':28}", *(f"{name:26}" for name in (*KERNELS, "aiokafka")), sep=" | ")
    for shape in SHAPES:
        measure(f"decode {shape.name}", decoders(shape), shape.batch_rows * shape.batch_count, budget_s)
    for shape in SHAPES:
        if shape.batch_count == 1:
            measure(f"encode {shape.name}", encoders(shape), shape.batch_rows, budget_s)


if __name__ == "__main__":
    main()
