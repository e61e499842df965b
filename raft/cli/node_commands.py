"""`kraft node status`: one screen about a node, on its own machine.

Exit codes: 0 while the node runs; 3 while it does not, as `systemctl status` has it.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from raft.cli.node_folder import properties_file
from raft.cli.printable import to_json
from raft.config import NodeConfig, parse_overrides, read_properties
from raft.printable import printable
from raft.status import NodeStatus, node_status

node = typer.Typer(help="One node, on its own machine.", no_args_is_help=True)

_EXIT_NOT_RUNNING = 3
_UNKNOWN = "unknown"
_MS_PER_S = 1_000
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@node.callback()
def group() -> None:
    """One node, on its own machine."""


@node.command()
def status(
    config: Annotated[
        Path, typer.Argument(metavar="NODE.PROPERTIES", help="The properties file of the node, or the folder with it.")
    ],
    override: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Set a key.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
    timeout_ms: Annotated[int, typer.Option("--timeout-ms", min=1, help="How long each response may take.")] = 2_000,
) -> None:
    """Show role, log, disk, snapshot and versions of a node. Exit code 0 if it runs, 3 if it does not respond.

    It asks the node, and reads the node's directory without changing anything there.
    """
    properties = read_properties(properties_file(config)) | parse_overrides(override or [])
    found = node_status(NodeConfig.from_properties(properties), timeout_ms=timeout_ms)
    if as_json:
        typer.echo(to_json(asdict(found)))
    else:
        _print(found)
    if not found.is_running:
        raise typer.Exit(_EXIT_NOT_RUNNING)


def _print(found: NodeStatus) -> None:
    console = Console(highlight=False, soft_wrap=True)
    table = Table.grid(padding=(0, 2))
    for group_name, facts in found.facts.items():
        for at, (name, value) in enumerate(facts.items()):
            table.add_row(Text("" if at else group_name, style="bold"), Text(name), Text(_shown(name, value)))
    console.print(table)
    for problem in found.problems:
        console.print(Text(f"Problem: {printable(problem)}", style="bold red"))


def _shown(name: str, value: Any) -> str:
    if value is None:
        return "none" if name == "File" else _UNKNOWN
    if name.endswith("Bytes"):
        return f"{value} ({decimal(value)})"
    if name.endswith("Ms"):
        return _duration(value // _MS_PER_S)
    return printable(str(value))


def _duration(seconds: int) -> str:
    """Return a time in its two largest units."""
    parts: list[str] = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        if count or (unit == "s" and not parts):
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
