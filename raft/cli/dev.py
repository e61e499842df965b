"""`kraft dev`: a quorum on this machine, to try things on."""

from __future__ import annotations

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
    voters: Annotated[int, typer.Option(min=1, help="How many.")] = 3,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where their logs lie; without it they are gone afterwards.")
    ] = None,
    base_port: Annotated[
        int | None, typer.Option(min=1, max=65_000, help="First of consecutive ports; without it free ones are picked.")
    ] = None,
) -> None:
    """Run a quorum on loopback until interrupted; prints its bootstrap servers."""
    for number in _ENDINGS:
        # Under nohup, SIGHUP is ignored and has to stay so: the quorum outlives its terminal then.
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _interrupt)
    with ExitStack() as stack:
        directory = data_dir or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kraft-dev-")))
        quorum = stack.enter_context(LocalQuorum.start(directory, voters=voters, base_port=base_port))
        typer.echo(quorum.bootstrap_servers)
        while True:
            # Not one endless pause: a signal that comes just before it would be noticed only after the next one.
            time.sleep(_LOOK_UP_S)


def _interrupt(_number: int, _frame: object) -> None:
    for number in _ENDINGS:
        signal.signal(number, _go_on)
    raise KeyboardInterrupt


def _go_on(_number: int, _frame: object) -> None:
    """Asked again, it is cleaning up already: to interrupt that would leave something behind."""
