"""`kraft backup` and `kraft restore`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.filesize import decimal

from raft.backup import Manifest, restore_backup, take_backup, verify_backup
from raft.cli.connection import BootstrapServer, CommandConfig, Timeout, client_for
from raft.config import NodeConfig, parse_overrides, read_properties
from raft.printable import printable


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup: a tar archive.")],
    bootstrap_server: BootstrapServer = None,
    verify: Annotated[bool, typer.Option("--verify", help="Only check a backup; no quorum is asked.")] = False,
    command_config: CommandConfig = None,
    timeout_ms: Timeout = 60_000,
) -> None:
    """Copy the committed log of a quorum to a new file, or check such a file."""
    if verify and bootstrap_server is not None:
        raise typer.BadParameter("--verify asks no quorum: remove --bootstrap-server")
    if verify:
        manifest = verify_backup(file)
    else:
        with client_for(bootstrap_server, timeout_ms, command_config) as client:
            manifest = take_backup(client, file)
    typer.echo(_in_words(manifest))


def restore(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The backup.")],
    config: Annotated[Path, typer.Argument(metavar="NODE.PROPERTIES", help="The properties file of the new node.")],
    cluster_id: Annotated[
        str | None,
        typer.Option(help="The cluster id that the restore of the first node printed; for each further node."),
    ] = None,
    override: Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="Set a key.")] = None,
) -> None:
    """Fill the empty log directory of a node from a backup.

    The restored quorum gets a new cluster id, which is printed.
    """
    node_config = NodeConfig.from_properties(read_properties(config) | parse_overrides(override or []))
    restored = restore_backup(file, node_config, cluster_id=cluster_id)
    typer.echo(_in_words(restored.manifest))
    typer.echo(f"restored node {node_config.node_id} to {printable(str(node_config.log_dir))}")
    typer.echo(f"new cluster id: {printable(restored.cluster_id)}")


def _in_words(manifest: Manifest) -> str:
    count = len(manifest.members)
    files = "1 file" if count == 1 else f"{count} files"
    return printable(
        f"backup of cluster {manifest.cluster_id}, topic {manifest.topic}, of {manifest.time}: "
        f"offsets {manifest.first_offset} to {manifest.end_offset}, epoch {manifest.end_epoch}, "
        f"{files}, {decimal(manifest.size_bytes)}"
    )
