"""Three real nodes under faults, with many clients, whose histories are checked.

    python -m tests.soak --minutes 10 --seed 7
    python -m tests.soak --minutes 10 --seed 7 --compact

With `--compact` the nodes make snapshots and cut their logs all the time, and the state at the end is checked.
With an odd seed the quorum is secured: clients use SCRAM over TLS, voters certificates, and both change meanwhile.
It prints a line for each fault, and figures of the run at the end. If a value was lost or doubled, or another invariant
does not hold, it prints which, keeps the logs and the output of the nodes, and exits with code 1.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from tests.harness.command import do_run, parser_of
from tests.harness.outcome import Outcome
from tests.harness.planted import SECURITY_BUGS
from tests.harness.run import Tell
from tests.soak.compacted_run import CompactedFigures, run_compacted
from tests.soak.figures import Figures
from tests.soak.plan import Plan
from tests.soak.run import run

_VALUES = 12


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    return do_run(_parser(), _plan_of, _run, arguments)


def _run(plan: Plan, folder: Path, tell: Tell) -> Outcome[Figures | CompactedFigures]:
    return run_compacted(plan, folder, tell) if plan.compacts else run(plan, folder, tell)


def _plan_of(options: Namespace) -> Plan:
    plan = Plan(
        seed=options.seed,
        duration_s=60 * options.minutes,
        writers=options.clients,
        most_values=options.values,
        compacts=options.compact,
        only=options.only,
        planted_bug=options.planted_bug,
    )
    assert plan.faults, "a plan has faults, or raises an error"
    return plan


def _parser() -> ArgumentParser:
    parser = parser_of("tests.soak", __doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long faults are injected (10)")
    parser.add_argument("--seed", type=int, default=1, help="decides which faults come in which order (1)")
    parser.add_argument("--clients", type=int, default=10, help="how many clients write (10)")
    parser.add_argument("--compact", action="store_true", help="compact the log, and check its state")
    parser.add_argument(
        "--values", type=int, default=_VALUES, help=f"most values of a keyed or multipart request ({_VALUES})"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names have this text (all)")
    parser.add_argument("--planted-bug", choices=SECURITY_BUGS, help="take nodes that do not check what they should")
    return parser


if __name__ == "__main__":
    sys.exit(main())
