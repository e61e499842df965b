"""The connector's decoders: offsets in a Spark checkpoint, and values in msgpack."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator

import msgpack
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from datasource.offsets import Beginning, Reached, read_offset
from datasource.option_values import NamedOffset
from kraft_spark.unpacker import unpack
from raft.client import LogPosition
from raft.errors import ConfigError
from raft.types import Epoch, Offset
from tests.fuzz.decoder import Decoder, MemoryBound, Sample

_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=128)
"""An empty map takes one byte in msgpack, and becomes a dict."""

_OFFSET_WORDS = (
    *(
        b"null",
        b"true",
        b"-1",
        b"0",
        b"1.5",
        b"NaN",
        b"{}",
        b"[]",
        b'"earliest"',
        b'"start":',
        b'"from":',
        b'"version":3,',
        b'"checksum":',
    ),
)
_MSGPACK_WORDS = (
    b"\xc0",
    b"\xdb\xff\xff\xff\xff",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\x91" * 2000,
    b"\xd6\xff",
)
_ROW = (
    StructType()
    .add("id", LongType())
    .add("name", StringType())
    .add("parts", ArrayType(IntegerType()))
    .add("at", TimestampType())
    .add("day", DateType())
    .add("price", DecimalType(10, 2))
    .add("ok", BooleanType())
    .add("raw", BinaryType())
    .add("by", MapType(StringType(), DoubleType()))
)


def read_checkpointed_offset(content: bytes) -> object:
    """Read an offset as the connector gets it from Spark: parsed.

    Raises:
        ConfigError: it is no offset, or no JSON object, which Spark would reject.
    """
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ConfigError("no JSON") from error
    if not isinstance(parsed, dict):
        raise ConfigError("no JSON object")
    return read_offset(parsed)


def read_packed_row(content: bytes) -> pa.Array:
    """Unpack a row in both modes.

    Raises:
        ValueError: it is no such row; the permissive mode returns null for it.
    """
    column = pa.array([content], pa.binary())
    permissive = unpack(column, _ROW, is_permissive=True)
    try:
        rows = unpack(column, _ROW, is_permissive=False)
    except ValueError:
        assert permissive.null_count == 1, f"one mode refuses, the other reads {permissive}"
        raise
    # They are compared as text, because NaN is not equal to itself.
    assert str(rows) == str(permissive), f"the modes differ: {rows} and {permissive}"
    return rows


def _offsets() -> Iterator[Sample]:
    point = LogPosition(offset=Offset(42), epoch=Epoch(3), checksum=7)
    for offset in (
        Beginning(start=NamedOffset.EARLIEST),
        Beginning(start=17),
        Beginning(start=None),
        Reached(cluster_id="MkU3OEVBNTcwNTJENDM2Qg", point=point),
        Reached(cluster_id="c", point=point, origin=LogPosition(offset=Offset(0), epoch=Epoch(0))),
    ):
        content = json.dumps(offset.to_json()).encode()
        yield Sample(name=content.decode(), content=content, decode=read_checkpointed_offset)


def _rows() -> Iterator[Sample]:
    row = {
        "id": 1 << 40,
        "name": "Größe",
        "parts": [1, -2, 3],
        "at": datetime.datetime(2026, 11, 21, 12, 30, tzinfo=datetime.UTC),
        "day": "2026-11-21",
        "price": "12.50",
        "ok": True,
        "raw": b"\x00\x01",
        "by": {"a": 0.5, "b": 2},
        "more": [None, {"x": 1}],
    }
    yield Sample(name="a row", content=msgpack.packb(row, datetime=True), decode=read_packed_row)
    yield Sample(name="a row of nulls", content=msgpack.packb(dict.fromkeys(row)), decode=read_packed_row)


CONNECTOR_DECODERS = (
    Decoder(name="offsets", samples=tuple(_offsets()), refusals=(ConfigError,), bound=_BOUND, words=_OFFSET_WORDS),
    Decoder(name="msgpack", samples=tuple(_rows()), refusals=(ValueError,), bound=_BOUND, words=_MSGPACK_WORDS),
)
