"""Three real nodes under faults, with many clients, whose histories are checked.

    python -m tests.soak --minutes 10 --seed 7
    python -m tests.soak --minutes 10 --seed 7 --compact

With `--compact` the nodes make snapshots and cut their logs all the time, and the state at the end is checked.
With an odd seed the quorum is secured: clients use SCRAM over TLS, voters certificates, and both change meanwhile.
It prints a line for each fault, and figures of the run at the end. If a value was lost or doubled, or another invariant
does not hold, it prints which, keeps the logs and the output of the nodes, and exits with code 1.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.soak.compacted_run import CompactedOutcome, run_compacted
from tests.soak.planted import PLANTED
from tests.soak.run import Outcome, Plan, run

_VALUES = 12


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    plan = Plan(
        seed=options.seed,
        duration_s=60 * options.minutes,
        writers=options.clients,
        most_values=options.values,
        only=options.only,
        planted_bug=options.planted_bug,
    )
    outcome: Outcome | CompactedOutcome
    tell = partial(print, flush=True)
    outcome = run_compacted(plan, folder, tell) if options.compact else run(plan, folder, tell)
    print(outcome.figures)
    print(outcome.verdict)
    if outcome.verdict.is_fine:
        shutil.rmtree(folder)
        return 0
    print(
        f"again: python -m tests.soak --minutes {options.minutes:g} --seed {options.seed} --clients {options.clients}"
        f"{f' --values {options.values}' if options.values != _VALUES else ''}"
        f"{' --compact' if options.compact else ''}"
        f"{f' --only {shlex.quote(options.only)}' if options.only else ''}"
        f"{f' --planted-bug {options.planted_bug}' if options.planted_bug else ''}"
    )
    print(f"the logs and the output of the nodes, the faults and the history are in {folder}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10, help="how long faults are injected (10)")
    parser.add_argument("--seed", type=int, default=1, help="decides which faults come in which order (1)")
    parser.add_argument("--clients", type=int, default=10, help="how many clients write (10)")
    parser.add_argument(
        "--values", type=int, default=_VALUES, help=f"most values of a keyed or multipart request ({_VALUES})"
    )
    parser.add_argument("--only", default="", metavar="TEXT", help="only faults whose names have this text (all)")
    parser.add_argument("--planted-bug", choices=PLANTED, help="take nodes that do not check what they should")
    parser.add_argument("--compact", action="store_true", help="compact the log, and check its state")
    return parser


if __name__ == "__main__":
    sys.exit(main())
