"""The command `kraft`: its sub-commands, and how it ends.

Exit codes: 0 done; 1 refused or failed, with one line on standard error; 2 wrong usage.
"""

from __future__ import annotations

import sys

import typer

from raft.cli.append import append
from raft.cli.dev import dev
from raft.cli.dump_log import dump_log
from raft.cli.quorum import quorum
from raft.cli.read import read
from raft.cli.serve import serve
from raft.errors import RaftError

_INTERRUPTED = 130

app = typer.Typer(
    help="A KRaft metadata quorum: run nodes, append, read, describe.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(serve)
app.command()(dev)
app.command()(append)
app.command()(read)
app.command("dump-log")(dump_log)
app.add_typer(quorum, name="quorum")


def main() -> None:
    """Run the command, and turn what was refused into one line and exit code 1."""
    try:
        app()
    except RaftError as error:
        print(f"kraft: {error}", file=sys.stderr)  # noqa: T201 - a command speaks to its user
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        raise SystemExit(_INTERRUPTED) from None


if __name__ == "__main__":
    main()
