"""`kraft dump-log`: prints the content of a node's files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from raft.cli.output import until_reader_leaves
from raft.cli.printable import to_json
from raft.errors import DecodeError, RaftError, StorageError
from raft.printable import printable
from raft.properties import parse_properties
from raft.records.batch import read_records
from raft.records.control import read_control_records
from raft.records.control_json import control_record_to_json
from raft.records.header import read_header
from raft.records.header_fields import attributes_of, batch_size_bytes, check_crc
from raft.storage.flushed_mark import FlushedOffsets
from raft.storage.producer_snapshot import decode_producer_snapshot
from raft.types import BatchHeader, Offset

_Row = dict[str, Any]

_SEGMENT = re.compile(r"\d{20}(\.log|-\d{10}\.checkpoint)")
"""The name of a segment is its first offset, that of a snapshot its end offset and epoch."""

_PRODUCER_SNAPSHOT = re.compile(r"(\d{20})\.snapshot")


def dump_log(
    path: Annotated[
        Path, typer.Argument(help="A segment, leader-epoch-checkpoint, quorum-state, or another file of a node.")
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Print the content of a file in a node's directory."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
    with until_reader_leaves():
        try:
            for row in _reader_for(path)(data):
                typer.echo(to_json(row) if as_json else _in_words(row))
                if "damage" in row:
                    raise StorageError(f"{path} is damaged at byte {row['position']}: {row['damage']}")
        except (ValueError, TypeError) as error:
            raise StorageError(f"{path} is damaged: {_in_plain_words(error)}") from error


def _reader_for(path: Path) -> Callable[[bytes], Iterator[_Row]]:
    readers: dict[str, Callable[[bytes], Iterator[_Row]]] = {
        "leader-epoch-checkpoint": _epochs,
        "recovery-point-offset-checkpoint": _recovery_points,
        "replication-offset-checkpoint": _high_watermarks,
        "flushed-offsets": _flushed_offsets,
        "quorum-state": _quorum_state,
        "meta.properties": _properties,
        "partition.metadata": _properties,
    }
    if _SEGMENT.fullmatch(path.name):
        return _segment
    snapshot = _PRODUCER_SNAPSHOT.fullmatch(path.name)
    if snapshot:
        return partial(_writers, Offset(int(snapshot[1])))
    try:
        return readers[path.name]
    except KeyError:
        known = ", ".join(["<offset>.log", "<offset>.snapshot", "<offset>-<epoch>.checkpoint", *readers])
        raise RaftError(f"cannot show {path.name}: expected one of {known}") from None


def _segment(data: bytes) -> Iterator[_Row]:
    """Yield the batches with their records, up to the first batch that is damaged or incomplete.

    The last batch of a running node may be incomplete.
    """
    position = 0
    while position < len(data):
        try:
            size_bytes = batch_size_bytes(data, position)
            if size_bytes is None or size_bytes > len(data) - position:
                yield {
                    "position": position,
                    "incomplete": f"{len(data) - position} bytes at the end are not a whole batch",
                }
                return
            check_crc(data, position, size_bytes)
            header = read_header(data, position)
            payload = data[position : position + size_bytes]
            yield {"position": position, **_batch(header, attributes_of(payload))}
            yield from _records(header, payload)
        except DecodeError as error:
            yield {"position": position, "damage": str(error)}
            return
        position += size_bytes


def _batch(header: BatchHeader, attributes: int) -> _Row:
    return {
        "baseOffset": header.base_offset,
        "lastOffset": header.last_offset,
        "count": header.record_count,
        "partitionLeaderEpoch": header.epoch,
        "producerId": -1 if header.producer_id is None else header.producer_id,
        "producerEpoch": header.producer_epoch,
        "baseSequence": header.base_sequence,
        "isTransactional": header.is_transactional,
        "isControl": header.is_control,
        "maxTimestamp": header.max_timestamp_ms,
        "size": header.size_bytes,
        "compression": attributes & 0x07,
    }


def _records(header: BatchHeader, payload: bytes) -> Iterator[_Row]:
    if header.is_control:
        for control in read_control_records(payload):
            yield {"offset": control.offset, "timestamp": control.timestamp_ms, **control_record_to_json(control)}
        return
    for record in read_records(payload):
        row: _Row = {"offset": record.offset, "timestamp": record.timestamp_ms}
        row["key"] = _text(record.key)
        row["value"] = _text(record.value)
        if record.headers:
            row["headers"] = [[key, _text(value)] for key, value in record.headers]
        yield row


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")


def _in_plain_words(error: Exception) -> str:
    """Return what is wrong with a text file; the message of a codec does not name the file."""
    if isinstance(error, UnicodeDecodeError):
        return f"expected UTF-8 text, got byte 0x{error.object[error.start]:02x} at byte {error.start}"
    return str(error)


def _epochs(data: bytes) -> Iterator[_Row]:
    for epoch, start_offset in _entries(data, "epoch and start offset", 2):
        yield {"epoch": int(epoch), "startOffset": int(start_offset)}


def _recovery_points(data: bytes) -> Iterator[_Row]:
    for topic, partition, offset in _entries(data, "topic, partition and offset", 3):
        yield {"topic": topic, "partition": int(partition), "recoveryPoint": int(offset)}


def _high_watermarks(data: bytes) -> Iterator[_Row]:
    for topic, partition, offset in _entries(data, "topic, partition and offset", 3):
        yield {"topic": topic, "partition": int(partition), "highWatermark": int(offset)}


def _flushed_offsets(data: bytes) -> Iterator[_Row]:
    offsets = FlushedOffsets.decode(data)
    if offsets is None:
        raise ValueError("expected one line of three offsets and the checksum of what is before it")
    yield {"recoveryPoint": offsets.recovery_point, "flushedEnd": offsets.end, "highWatermark": offsets.committed}


def _writers(end_offset: Offset, data: bytes) -> Iterator[_Row]:
    """Yield the writers of a producer snapshot, each with its remembered batches, oldest first; then transactions."""
    try:
        image = decode_producer_snapshot(data, end_offset=end_offset)
    except DecodeError as error:
        yield {"position": 0, "damage": str(error)}
        return
    writers = image.writers
    yield {"endOffset": end_offset, "logTime": writers.log_time_ms, "producers": len(writers.histories)}
    for producer_id, history in writers.histories.items():
        for written in history:
            yield {
                "producerId": producer_id,
                "producerEpoch": written.epoch,
                "baseSequence": written.sequence,
                "count": written.record_count,
                "baseOffset": written.base_offset,
                "lastOffset": written.end_offset - 1,
                "logTime": written.log_time_ms,
                "contentChecksum": written.content_checksum,
            }
    for transaction in image.transactions.transactions:
        yield {
            "openTransaction": transaction.producer_id,
            "producerEpoch": transaction.producer_epoch,
            "firstOffset": transaction.first_offset,
            "lastOffset": transaction.last_offset,
            "count": transaction.record_count,
        }
    for producer in image.transactions.producers:
        yield {
            "transactionalId": producer.name,
            "producerId": producer.producer_id,
            "producerEpoch": producer.producer_epoch,
            "timeoutMs": producer.timeout_ms,
        }
    for commit in image.transactions.commits:
        yield {"unfinishedCommit": commit.offset, "firstOffset": commit.first_offset, "missing": list(commit.missing)}
    for write in image.transactions.ended_writes:
        yield {"endedWrites": write.end_offset, "firstOffset": write.first_offset}


def _entries(data: bytes, expected: str, columns: int) -> Iterator[list[str]]:
    """Yield the entries of a checkpoint, which follow its version and their number."""
    for number, line in enumerate(_lines(data)[2:], start=3):
        entry = line.split()
        if len(entry) != columns:
            raise ValueError(f"line {number}: expected {expected}, got {line!a}")
        yield entry


def _quorum_state(data: bytes) -> Iterator[_Row]:
    yield dict(json.loads(data))


def _properties(data: bytes) -> Iterator[_Row]:
    yield dict(parse_properties(data.decode(errors="replace")))


def _lines(data: bytes) -> list[str]:
    return data.decode(errors="backslashreplace").splitlines()


def _in_words(row: _Row) -> str:
    indent = "| " if "offset" in row else ""
    return indent + " ".join(f"{printable(name)}: {to_json(value)}" for name, value in row.items())
