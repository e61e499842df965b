"""Exactly once under fire: rows are copied from one quorum into another while every process is struck.

    python -m tests.fire --faults 40 --seed 7

A streaming query on a standalone cluster copies what a feeder appends. Meanwhile executors, workers, driver, leaders
and all voters are killed, suspended and cut off. It prints a line for each fault, and figures of the run at the end.

With an odd seed both quorums are secured, and the query, the feeder and the readers use SCRAM over TLS.

If a row is lost or doubled, or a reader sees other rows than the log has, it prints which, keeps the logs and the
output of all processes, and exits with code 1. If it is interrupted (Ctrl-C, SIGTERM), it keeps nothing.

With --planted-bug the sink has a bug. One has other keys for its writes in each run of the driver, and the run finds
doubled rows. In the other one repeated tasks write nothing, and the run finds lost rows:

    python -m tests.fire --planted-bug doubles --only "driver killed at an append" --faults 3
    python -m tests.fire --planted-bug loses --only "executor killed at a part" --faults 3
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from tests.fire.faults import FAULTS
from tests.fire.planted import PLANTED
from tests.fire.run import FORMAT, Plan, run
from tests.harness.command import do_run, parser_of
from tests.harness.nemesis import chosen


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    return do_run(_parser(), _plan_of, run, arguments)


def _plan_of(options: Namespace) -> Plan:
    return Plan(
        faults=options.faults,
        seed=options.seed,
        kinds=tuple(chosen(FAULTS, options.only)),
        sink_format=PLANTED[options.planted_bug].name() if options.planted_bug else FORMAT,
    )


def _parser() -> ArgumentParser:
    parser = parser_of("tests.fire", __doc__)
    parser.add_argument("--faults", type=int, default=40, help="how many faults strike (40)")
    parser.add_argument("--seed", type=int, default=1, help="decides which faults come in which order (1)")
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names have this text (all)")
    parser.add_argument("--planted-bug", choices=PLANTED, help="take a sink that doubles rows, or one that loses rows")
    return parser


if __name__ == "__main__":
    sys.exit(main())
