"""`kraft read`: prints committed records of a range, all that follow, or the newest of each key."""

from __future__ import annotations

import base64
import sys
from typing import Annotated, Any

import typer

from raft.cli.connection import BootstrapServer, CommandConfig, Timeout, client_for
from raft.cli.output import until_reader_leaves
from raft.cli.printable import for_standard_output, to_json
from raft.cli.shown_records import newest_records, shown_records
from raft.client import Client
from raft.client.settings import DEFAULT_API_TIMEOUT_MS
from raft.client.view_end import ViewEnd
from raft.errors import ConfigError
from raft.types import Offset


def read(
    bootstrap_server: BootstrapServer = None,
    start: Annotated[str, typer.Option("--from", metavar="earliest|latest|OFFSET")] = "earliest",
    to: Annotated[str | None, typer.Option("--to", metavar="latest|OFFSET", help="Where to stop, exclusive.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Wait for more records until interrupted.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Show control records too.")] = False,
    latest: Annotated[bool, typer.Option("--latest", help="Only the newest record of each key.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a record.")] = False,
    command_config: CommandConfig = None,
    timeout_ms: Timeout = DEFAULT_API_TIMEOUT_MS,
) -> None:
    """Print committed records: value, or key TAB value. On a terminal, control characters are escaped."""
    if follow and to is not None:
        raise typer.BadParameter("--follow has no end: give --follow or --to")
    if latest and (follow or control or start != "earliest"):
        raise typer.BadParameter("--latest reads the whole log up to --to: remove --from, --follow and --control")
    with client_for(bootstrap_server, timeout_ms, command_config) as client, until_reader_leaves():
        end = None if follow else _offset(client, "--to", to or "latest")
        if latest:
            assert end is not None, "checked above"
            shown = newest_records(client, ViewEnd(end, may_move=to in (None, "latest")))
        else:
            shown = shown_records(client, _offset_of_start(client, start, end, to), end, control=control)
        for each in shown:
            sys.stdout.write((_in_json(each) if as_json else _in_words(each)) + "\n")
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


def _offset_of_start(client: Client, start: str, end: Offset | None, to: str | None) -> Offset:
    offset = _offset(client, "--from", start)
    if end is None or offset <= end:
        return offset
    if start == "earliest":
        return end  # No record before the end is left.
    raise ConfigError(f"--from {start} is after --to {to}: expected a start up to the end")


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
