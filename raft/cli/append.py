"""`kraft append`: appends one record, or one for each line of standard input."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import Annotated

import typer

from raft.cli.connection import BootstrapServer, CommandConfig, Timeout, client_for
from raft.cli.progress import counting
from raft.client import Client
from raft.client.settings import DEFAULT_API_TIMEOUT_MS, DEFAULT_MAX_REQUEST_BYTES
from raft.errors import ConfigError, ErrorCode, RequestError
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import LARGEST_BATCH_BYTES, Offset

_MOST_RECORDS = 1000
_CHUNK_BYTES = 1 << 18


def append(
    bootstrap_server: BootstrapServer = None,
    value: Annotated[
        str | None,
        typer.Argument(help="The value. Without it, each line of standard input is appended: key TAB value."),
    ] = None,
    key: Annotated[str | None, typer.Option(help="The record's key.")] = None,
    command_config: CommandConfig = None,
    timeout_ms: Timeout = DEFAULT_API_TIMEOUT_MS,
    max_request_size: Annotated[
        int,
        typer.Option(
            min=1,
            max=LARGEST_BATCH_BYTES,
            help="Largest batch to send, in bytes; the nodes' message.max.bytes must allow it.",
        ),
    ] = DEFAULT_MAX_REQUEST_BYTES,
) -> None:
    """Append records, and return when they are on the disks of a majority."""
    if key is not None and value is None:
        raise typer.BadParameter("--key needs a value: on standard input, write the key and a TAB before each value")
    with client_for(bootstrap_server, timeout_ms, command_config) as client:
        appender = _Appender(client, max_request_size)
        if value is not None:
            appender.append([_record(key, value)])
        else:
            with counting("records appended") as count:
                for records in _records_of_lines():
                    appender.append(records)
                    count(len(records))
        typer.echo(appender.summary())


class _Appender:
    """Appends batches as one idempotent producer, so a repeated batch is not appended twice (CLIENT-9)."""

    def __init__(self, client: Client, max_batch_bytes: int) -> None:
        self._client = client
        self._max_batch_bytes = max_batch_bytes
        self._producer_id: int | None = None
        self._next_sequence = 0
        self._first: Offset | None = None
        self._last: Offset | None = None

    def append(self, records: list[Record]) -> None:
        """Append records as one batch.

        Raises:
            RequestError: they are refused; the message says what was appended before.
        """
        if self._producer_id is None:
            self._producer_id = self._client.new_producer_id()
        batch = build_batch(records, producer_id=self._producer_id, producer_epoch=0, base_sequence=self._next_sequence)
        if len(batch) > self._max_batch_bytes:
            raise self._refused(ErrorCode.MESSAGE_TOO_LARGE, _too_large(batch))
        try:
            appended = self._client.append(batch)
        except RequestError as error:
            reason = _too_large(batch) if error.code == ErrorCode.MESSAGE_TOO_LARGE else str(error)
            raise self._refused(error.code, reason) from error
        self._next_sequence += len(records)
        self._first = appended.base_offset if self._first is None else self._first
        self._last = Offset(appended.base_offset + len(records) - 1)

    def summary(self) -> str:
        """Return in words what was appended."""
        if self._first is None:
            return "nothing appended"
        if self._next_sequence == 1:
            return f"appended 1 record at offset {self._first}"
        return f"appended {self._next_sequence} records at offsets {self._first} to {self._last}"

    def _refused(self, error_code: int, reason: str) -> RequestError:
        before = f" ({self.summary()} before it)" if self._first is not None else ""
        return RequestError(error_code, f"{reason}{before}")


def _too_large(batch: bytes) -> str:
    return (
        f"a batch of {len(batch)} bytes is too large: raise --max-request-size here and message.max.bytes on the nodes"
    )


def _records_of_lines() -> Iterator[list[Record]]:
    """Yield the lines of standard input in groups for one batch each, without waiting until a group is full."""
    if sys.stdin is None:
        raise ConfigError("standard input is closed: give a value as argument")
    partial = b""
    while chunk := os.read(sys.stdin.fileno(), _CHUNK_BYTES):
        *lines, partial = (partial + chunk).split(b"\n")
        for at in range(0, len(lines), _MOST_RECORDS):
            yield [_record_of_line(line) for line in lines[at : at + _MOST_RECORDS]]
    if partial:
        yield [_record_of_line(partial)]


def _record_of_line(line: bytes) -> Record:
    text = line.removesuffix(b"\r")
    key, tab, value = text.partition(b"\t")
    return _record(key, value) if tab else _record(None, text)


def _record(key: str | bytes | None, value: str | bytes) -> Record:
    return Record(
        # Python has surrogates for the bytes of arguments that are not UTF-8; fsencode returns the bytes.
        key=os.fsencode(key) if isinstance(key, str) else key,
        value=os.fsencode(value) if isinstance(value, str) else value,
        timestamp_ms=int(time.time() * 1000),
    )
