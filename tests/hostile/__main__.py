"""Three real nodes, honest clients that append, and a hostile neighbour that attacks the nodes in every known way.

    python -m tests.hostile --seconds 20 --seed 1
    python -m tests.hostile --attacks MutatedRecordings,TimeSearches
    python -m tests.hostile --neighbour stranger --attacks HalfHandshakes

With `--neighbour stranger` clients need TLS and SCRAM, and voters certificates, and the neighbour has neither. With
`--neighbour client` it has both, and may read and append as the honest clients do; with `--neighbour observer` it may
speak as an observer too. Nodes with a planted bug show that the run finds it:

    python -m tests.hostile --neighbour client --planted-bug asks-no-rules

If an append was lost, doubled or misplaced, an election was held, a node used too much memory or logged an error, or
appends became too slow, it keeps the logs and the output of the nodes, and exits with code 1. The 99th percentile of
appends is judged only if the machine has a processor for each process that is busy.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tests.harness.command import do_run, parser_of
from tests.harness.outcome import Outcome
from tests.harness.planted import SECURITY_BUGS
from tests.harness.run import Tell
from tests.hostile.attacks.every import attacks_of
from tests.hostile.figures import Figures
from tests.hostile.identity import Identity
from tests.hostile.run import Plan, run
from tests.hostile.verdict import BUSY_PROCESSES, late


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    return do_run(_parser(), _plan_of, _run_and_judge_times, arguments)


def _run_and_judge_times(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures | None]:
    outcome = run(plan, folder, tell)
    if outcome.figures is None:
        return outcome
    processors = os.cpu_count() or 1
    if processors < BUSY_PROCESSES:
        tell(f"the p99 is not judged: {processors} processors for {BUSY_PROCESSES} busy processes")
    times = late(outcome.figures, processors=processors)
    return Outcome(figures=outcome.figures, verdict=outcome.verdict.with_broken(times))


def _plan_of(options: Namespace) -> Plan:
    return Plan(
        seed=options.seed,
        duration_s=options.seconds,
        clients=options.clients,
        identity=Identity(options.neighbour),
        attacks=[name for name in options.attacks.split(",") if name],
        planted_bug=options.planted_bug,
    )


def _parser() -> ArgumentParser:
    parser = parser_of("tests.hostile", __doc__)
    parser.add_argument("--seconds", type=float, default=20, help="length of each of the two phases (20)")
    parser.add_argument("--seed", type=int, default=1, help="decides what the neighbour sends (1)")
    identities = [identity.value for identity in Identity]
    parser.add_argument("--neighbour", choices=identities, default="anyone", help="who the neighbour is (anyone)")
    parser.add_argument("--clients", type=int, default=4, help="how many honest clients append (4)")
    every = ", ".join({name: None for identity in Identity for name in attacks_of(identity)})
    parser.add_argument("--attacks", default="", help=f"only these, separated by commas: {every}")
    parser.add_argument("--planted-bug", choices=SECURITY_BUGS, help="take nodes that do not check what they should")
    return parser


if __name__ == "__main__":
    sys.exit(main())
