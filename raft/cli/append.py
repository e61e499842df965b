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
from raft.client import AppendedRecords, Producer
from raft.client.settings import DEFAULT_API_TIMEOUT_MS, DEFAULT_MAX_REQUEST_BYTES
from raft.errors import ConfigError, MessageTooLargeError, RequestError, refusal
from raft.records.record import Record
from raft.types import LARGEST_BATCH_BYTES

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
    with client_for(bootstrap_server, timeout_ms, command_config, max_request_bytes=max_request_size) as client:
        appending = _Appending(Producer(client, batch_bytes=max_request_size))
        if value is not None:
            appending.append([_record(key, value)])
        else:
            with counting("records appended") as count:
                for records in _records_of_lines():
                    appending.append(records)
                    count(len(records))
        typer.echo(appending.summary())


class _Appending:
    """Appends records, and knows what was appended so far."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._appended: AppendedRecords | None = None

    def append(self, records: list[Record]) -> None:
        """Append records.

        Raises:
            RequestError: they are refused; the message says what was appended before.
        """
        try:
            for part in self._producer.append_in_batches(records):
                self._appended = part if self._appended is None else self._appended.followed_by(part)
        except RequestError as error:
            reason = str(error)
            if isinstance(error, MessageTooLargeError):
                reason += "; raise --max-request-size here and message.max.bytes on the nodes"
            before = f" ({self.summary()} before it)" if self._appended is not None else ""
            raise refusal(error.code, f"{reason}{before}") from error

    def summary(self) -> str:
        """Return in words what was appended."""
        appended = self._appended
        if appended is None:
            return "nothing appended"
        if appended.count == 1:
            return f"appended 1 record at offset {appended.first_offset}"
        return f"appended {appended.count} records at offsets {appended.first_offset} to {appended.last_offset}"


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
