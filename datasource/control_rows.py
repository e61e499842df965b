"""Control records as rows, with their content in JSON."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.compute as pc

from raft.records.control import read_control_record
from raft.records.control_json import control_record_to_json
from raft.records.record import Record
from raft.types import Offset


def with_control(record_batch: pa.RecordBatch) -> pa.RecordBatch:
    """Replace the column `is_control` by the column `control`: the content of control records in JSON.

    Key and value of control records become null, because their form belongs to the protocol.

    Raises:
        DecodeError: a control record is malformed.
    """
    is_control = record_batch.column("is_control")
    columns = {name: record_batch.column(name) for name in record_batch.schema.names if name != "is_control"}
    # Only the control rows, which are few, become Python objects.
    rows = record_batch.select(["offset", "key", "value"]).filter(is_control).to_pylist()
    content = pa.array([_control_json(row) for row in rows], pa.string())
    columns["control"] = pc.replace_with_mask(pa.nulls(record_batch.num_rows, pa.string()), is_control, content)
    for name in ("key", "value"):
        columns[name] = pc.if_else(is_control, pa.scalar(None, pa.binary()), columns[name])
    return pa.RecordBatch.from_pydict(columns)


def _control_json(row: dict[str, object]) -> str:
    key, value, offset = row["key"], row["value"], row["offset"]
    assert isinstance(key, bytes), "a control record has a key"
    assert isinstance(value, bytes), "and a value"
    assert isinstance(offset, int), "and an offset"
    return json.dumps(control_record_to_json(read_control_record(Record(key=key, value=value, offset=Offset(offset)))))
