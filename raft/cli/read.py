"""`kraft read`: prints committed records of a range, or all that follow."""

from __future__ import annotations

import base64
import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from raft.cli.connection import BootstrapServer, Timeout, client_for
from raft.cli.output import until_reader_leaves
from raft.cli.printable import for_standard_output, to_json
from raft.client import AbortedFilter, Client
from raft.client.settings import DEFAULT_API_TIMEOUT_MS
from raft.errors import ConfigError, CorruptBatchError, DecodeError
from raft.records.batch import read_records
from raft.records.control import read_control_records
from raft.records.control_json import control_record_to_json
from raft.records.record import Record
from raft.records.split import walk_batches
from raft.types import Batch, Epoch, Offset

_FETCH_BYTES = 4 << 20
_FOLLOW_WAIT_MS = 500


def read(
    bootstrap_server: BootstrapServer,
    start: Annotated[str, typer.Option("--from", metavar="earliest|latest|OFFSET")] = "earliest",
    to: Annotated[str | None, typer.Option("--to", metavar="latest|OFFSET", help="Where to stop, exclusive.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more records until interrupted.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Show control records too.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a record.")] = False,
    timeout_ms: Timeout = DEFAULT_API_TIMEOUT_MS,
) -> None:
    """Print committed records: value, or key TAB value. On a terminal, control characters are escaped."""
    if follow and to is not None:
        raise typer.BadParameter("--follow has no end: give --follow or --to")
    with client_for(bootstrap_server, timeout_ms) as client, until_reader_leaves():
        offset = _offset(client, "--from", start)
        end = None if follow else _offset(client, "--to", to or "latest")
        if end is not None and offset > end:
            raise ConfigError(f"--from {start} is after --to {to}: expected a start up to the end")
        for line in _lines(client, offset, end, control=control, as_json=as_json):
            sys.stdout.write(line + "\n")
            if follow:
                sys.stdout.flush()


def _offset(client: Client, option: str, text: str) -> Offset:
    if text == "latest":
        return client.last_stable_offset()
    if text == "earliest" and option == "--from":
        return client.log_start_offset()
    if not text.isdecimal():
        places = "earliest, latest" if option == "--from" else "latest"
        raise typer.BadParameter(f"{option} {text}: expected {places} or an offset of 0 or more")
    offset, end = Offset(int(text)), client.last_stable_offset()
    if offset > end:
        raise ConfigError(f"{option} {offset} is after the end of the log, expected at most {end}")
    return offset


def _lines(client: Client, offset: Offset, end: Offset | None, *, control: bool, as_json: bool) -> Iterator[str]:
    while end is None or offset < end:
        fetched = client.fetch(offset, max_bytes=_FETCH_BYTES, max_wait_ms=_FOLLOW_WAIT_MS)
        aborted = AbortedFilter(fetched.aborted)
        try:
            for batch in walk_batches(fetched.records):
                records = () if aborted.drops(batch.header) else _shown(batch, control=control)
                for shown in records:
                    if shown["offset"] >= offset and (end is None or shown["offset"] < end):
                        yield _in_json(shown) if as_json else _in_words(shown)
                offset = max(offset, batch.header.end_offset)
        except DecodeError as error:
            raise CorruptBatchError(f"the batch with offset {offset} cannot be read: {error}") from error


def _shown(batch: Batch, *, control: bool) -> Iterator[dict[str, Any]]:
    """Yield the records of a batch for the output; only control records have `control`.

    Raises:
        DecodeError: while iterating, at the first malformed record.
    """
    if not batch.header.is_control:
        for record in read_records(batch.payload):
            yield _described(record, batch.header.epoch)
    elif control:
        for control_record in read_control_records(batch.payload):
            yield {
                "offset": control_record.offset,
                "epoch": batch.header.epoch,
                "timestamp": control_record.timestamp_ms,
                "control": control_record_to_json(control_record),
            }


def _described(record: Record, epoch: Epoch) -> dict[str, Any]:
    described: dict[str, Any] = {
        "offset": record.offset,
        "epoch": epoch,
        "timestamp": record.timestamp_ms,
        "key": record.key,
        "value": record.value,
    }
    if record.headers:
        described["headers"] = list(record.headers)
    return described


def _in_json(shown: dict[str, Any]) -> str:
    """Return a record as a JSON object; bytes that are not UTF-8 become {"base64": ...}."""

    def text(value: bytes) -> Any:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}

    return to_json(shown, default=text)


def _in_words(shown: dict[str, Any]) -> str:
    if "control" in shown:
        return f"# offset {shown['offset']}, epoch {shown['epoch']}: {to_json(shown['control'])}"
    value = "null" if shown["value"] is None else shown["value"].decode(errors="backslashreplace")
    if shown["key"] is None:
        return for_standard_output(value)
    return for_standard_output(f"{shown['key'].decode(errors='backslashreplace')}\t{value}")
