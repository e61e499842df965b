"""`kraft dev`: runs a quorum on this machine, for development."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from raft.local import LocalQuorum

_ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LOOK_UP_S = 0.5


def dev(
    voters: Annotated[int, typer.Option(min=1, help="Number of voters.")] = 3,
    data_dir: Annotated[
        Path | None, typer.Option(help="Directory of their logs; without it they are removed at the end.")
    ] = None,
    base_port: Annotated[
        int | None, typer.Option(min=1, max=65_000, help="First of consecutive ports; by default free ones.")
    ] = None,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Serve metrics, and print where: one line for each voter.")
    ] = False,
) -> None:
    """Run a quorum on loopback until it is interrupted.

    The first line printed has its bootstrap servers, the second one the file for --command-config of other commands.
    The exit code is 0 after SIGTERM, as that of kraft serve, and 130 after an interrupt.
    """
    for number in _ENDINGS:
        # Under nohup, SIGHUP is ignored. It must stay so, because the quorum runs on without its terminal.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    with ExitStack() as stack:
        directory = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kraft-dev-")))
        quorum = stack.enter_context(LocalQuorum.start(directory, voters=voters, base_port=base_port, metrics=metrics))
        typer.echo(quorum.bootstrap_servers)
        # The bytes of the path: the locale may lack characters for them.
        typer.echo(os.fsencode(quorum.client_config))
        for endpoint in quorum.metrics_endpoints.values():
            typer.echo(f"http://{endpoint}/metrics")
        while True:
            # One endless pause would miss a signal that comes just before it.
            time.sleep(_LOOK_UP_S)


def _interrupt(number: int, _frame: object) -> None:
    for each in _ENDINGS:
        signal.signal(each, _go_on)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    # It was asked to stop, and has done so: no error for a supervisor.
    raise SystemExit(0)


def _go_on(_number: int, _frame: object) -> None:
    """Ignore further signals: the quorum is being stopped, and an interrupt would leave voters or files behind."""
