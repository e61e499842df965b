"""The Arrow schema of rows from the log. Spark makes the same of the data source's schema.

    key        binary                                         null for a record without key
    value      binary                                         null for a record without value
    offset     int64
    timestamp  timestamp[us, tz=UTC]
    epoch      int32                                          leader epoch in which the record was appended
    headers    list<element: struct<key: string, value: binary>>    optional; null for a record without headers
    is_control bool                                           optional; whether the row is a control record

Every field is nullable, because those of Spark are: it refuses a record batch with another schema than its own.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

HEADER_TYPE = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
HEADERS_TYPE = pa.list_(pa.field("element", HEADER_TYPE))
TIMESTAMP_TYPE = pa.timestamp("us", tz="UTC")

_ALWAYS = [
    pa.field("key", pa.binary()),
    pa.field("value", pa.binary()),
    pa.field("offset", pa.int64()),
    pa.field("timestamp", TIMESTAMP_TYPE),
    pa.field("epoch", pa.int32()),
]


def read_schema(*, headers: bool = False, control: bool = False) -> pa.Schema:
    """Return the schema of decoded rows.

    Args:
        headers: with the column `headers`.
        control: with the column `is_control`, which the reader replaces before Spark gets the rows.
    """
    fields = list(_ALWAYS)
    if headers:
        fields.append(pa.field("headers", HEADERS_TYPE))
    if control:
        fields.append(pa.field("is_control", pa.bool_()))
    return pa.schema(fields)


def header_lists(list_offsets: pa.Buffer, keys: pa.Array, values: pa.Array) -> pa.Array:
    """Return the column `headers` from its parts.

    A record without headers has null and not an empty list, as in Spark's Kafka source (KafkaRecordToRowConverter).

    Args:
        list_offsets: int32, one more than rows: the start of each row's headers in `keys` and `values`.
        keys: string, one for each header.
        values: binary, one for each header.
    """
    structs = pa.StructArray.from_arrays([keys, values], fields=list(HEADER_TYPE))
    offsets = np.frombuffer(list_offsets, np.int32)
    has_headers = np.diff(offsets) > 0
    validity = pa.py_buffer(np.packbits(has_headers, bitorder="little"))
    return pa.Array.from_buffers(HEADERS_TYPE, len(has_headers), [validity, list_offsets], children=[structs])
