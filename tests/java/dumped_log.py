"""What `kafka-dump-log` prints of a segment or a snapshot, as values.

    Dumping /.../00000000000000000000.log
    Log starting offset: 0
    baseOffset: 0 lastOffset: 0 count: 1 ... compresscodec: none crc: 3792181308 isvalid: true
    | offset: 0 CreateTime: 1795265095909 keySize: 4 valueSize: 34 sequence: -1 headerKeys: [] LeaderChange: {...}
    | offset: 1 CreateTime: 1795265356213 keySize: 2 valueSize: 3 sequence: 0 headerKeys: [a,b] key: k0 payload: abc

The second line of a snapshot is "Snapshot end offset: 2018, epoch: 1".

Batches and control records become what `kraft dump-log --json` prints. Data records keep Kafka's names, and have `key`
and `payload` only if those are printed.

Source: Kafka DumpLogSegments.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

Row = dict[str, Any]

_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_BATCH_NUMBERS = (
    "position",
    "baseOffset",
    "lastOffset",
    "count",
    "partitionLeaderEpoch",
    "producerId",
    "producerEpoch",
    "baseSequence",
    "size",
)
_RECORD = re.compile(
    r"\| offset: (\d+) CreateTime: (-?\d+) keySize: (-?\d+) valueSize: (-?\d+) sequence: -?\d+ headerKeys: \[([^\]]*)\]"
)
_CONTROL = re.compile(r" ([A-Z]\w+):? (\{.*\})")


def read_dumps(text: str) -> list[list[Row]]:
    """Read the dumps of several files, one after the other; see `read_dump`."""
    starts = [match.start() for match in re.finditer(r"^Dumping ", text, re.MULTILINE)]
    return [read_dump(text[start:end]) for start, end in pairwise([*starts, len(text)])]


def read_dump(text: str) -> list[Row]:
    """Read the batches of one segment or snapshot, each followed by its records if they are printed.

    Raises:
        AssertionError: a batch is not valid, or a line reports something else, such as invalid bytes at the end.
    """
    file_line, start_line, *lines = text.removesuffix("\n").split("\n")
    assert file_line.startswith("Dumping "), file_line
    assert start_line.startswith(("Log starting offset: ", "Snapshot end offset: ")), start_line
    return [_record(line) if line.startswith("| ") else _batch(line) for line in lines]


def as_kafka_prints_it(row: Row, *, with_content: bool) -> Row:
    """Return a row of `kraft dump-log --json` as kafka-dump-log prints it; only data records differ."""
    if "key" not in row:
        return row
    content = {"key": row["key"], "payload": row["value"]}
    sizes = {name: -1 if text is None else len(text.encode()) for name, text in content.items()}
    return {
        "offset": row["offset"],
        "timestamp": row["timestamp"],
        "keySize": sizes["key"],
        "valueSize": sizes["payload"],
        "headerKeys": [key for key, _ in row.get("headers", [])],
        **{name: text for name, text in content.items() if with_content and text is not None},
    }


def _batch(line: str) -> Row:
    words = dict(re.findall(r"(\w+): (\S+)", line))
    assert words.get("isvalid") == "true", line
    assert words["magic"] == "2", line
    return {name: int(words[name]) for name in _BATCH_NUMBERS} | {
        "isTransactional": words["isTransactional"] == "true",
        "isControl": words["isControl"] == "true",
        "maxTimestamp": int(words["CreateTime"]),
        "compression": _CODECS.index(words["compresscodec"]),
    }


def _record(line: str) -> Row:
    found = _RECORD.match(line)
    assert found is not None, line
    row: Row = {"offset": int(found[1]), "timestamp": int(found[2])}
    rest = line[found.end() :]
    if control := _CONTROL.fullmatch(rest):
        return row | {"type": control[1], **json.loads(control[2])}
    row |= {"keySize": int(found[3]), "valueSize": int(found[4])}
    row["headerKeys"] = found[5].split(",") if found[5] else []
    return row | _content(rest, row)


def _content(rest: str, row: Row) -> Row:
    """Read key and payload if they are printed. Their sizes show where they end, as they may hold any bytes."""
    content: Row = {}
    left = rest.encode()
    for name, size_bytes in (("key", row["keySize"]), ("payload", row["valueSize"])):
        label = f" {name}: ".encode()
        if left.startswith(label):
            content[name] = left[len(label) : len(label) + size_bytes].decode()
            left = left[len(label) + size_bytes :]
    assert not left, f"{left!r} after the content of {row}"
    return content
