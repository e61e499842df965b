"""The command `kraft`: its sub-commands and exit codes.

Exit codes: 0 for success; 1 for an error, with one line on standard error; 2 for wrong usage; 3 from `kraft node
status` for a node that does not run; 130 after an interrupt. `kraft serve` and `kraft dev` exit with 0 after SIGTERM.
"""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

from raft.cli.append import append
from raft.cli.backup import backup, restore
from raft.cli.check import check
from raft.cli.credentials import credentials
from raft.cli.dev import dev
from raft.cli.doctor import doctor
from raft.cli.dump_log import dump_log
from raft.cli.node_commands import node
from raft.cli.quorum_commands import quorum
from raft.cli.read import read
from raft.cli.serve import serve
from raft.errors import RaftError
from raft.printable import printable
from raft.version import __version__

_INTERRUPTED = 130

app = typer.Typer(
    help="A KRaft metadata quorum: run nodes, append, read, describe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Take the options that belong to no sub-command."""
    del version


app.command()(serve)
app.command()(dev)
app.command()(doctor)
app.command()(append)
app.command()(read)
app.command("dump-log")(dump_log)
app.command()(check)
app.command()(backup)
app.command()(restore)
app.add_typer(quorum, name="quorum")
app.add_typer(node, name="node")
app.add_typer(credentials, name="credentials")


def main() -> None:
    """Run the command; print an error as one line, and exit with code 1."""
    _print_everything()
    try:
        app(prog_name="kraft")
    except RaftError as error:
        lines = (printable(line) for line in f"kraft: {error}".split("\n"))
        print("\n".join(lines), file=sys.stderr)  # noqa: T201 - a command speaks to its user
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


def _print_everything() -> None:
    """Print characters that the locale lacks: escaped on a terminal, as UTF-8 into a pipe or a file."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")


if __name__ == "__main__":
    main()
