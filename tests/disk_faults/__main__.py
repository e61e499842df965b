"""The faults of Jepsen's report on NATS 2.12.1, against five real nodes on file systems that lose unflushed writes.

    sudo python -m tests.disk_faults
    sudo python -m tests.disk_faults --system nats --fault "power of all" --seed 7

Each node has an ext4 file system of its own in a file, mounted through a loop device, so it needs root and Linux. It
prints for each fault how many acknowledged values are lost, and exits with code 1 if there are any, if the log cannot
be read or takes no appends afterwards. Then the output of the nodes is kept.

For `--system nats`, `bash scripts/ensure_nats.sh` installs the server of that report and its client.
"""

from __future__ import annotations

import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from tests.disk_faults.faults import FAULTS
from tests.disk_faults.run import Plan, run
from tests.disk_faults.systems import SYSTEMS
from tests.harness.command import do_run, parser_of
from tests.harness.outcome import Outcome
from tests.harness.run import Tell
from tests.workload.verdict import Verdict


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    return do_run(_parser(), _plans_of, _run, arguments)


def _plans_of(options: Namespace) -> Sequence[Plan]:
    return [
        Plan(system=options.system, fault=fault, seed=options.seed, values=options.values)
        for fault in ([options.fault] if options.fault else FAULTS)
    ]


def _run(plans: Sequence[Plan], folder: Path, tell: Tell) -> Outcome[None]:
    """Do one run for each plan, in a folder of its own, which is kept only if something is wrong."""
    verdicts: list[Verdict] = []
    for plan in plans:
        tell(f"{plan.system}, {plan.fault}, seed {plan.seed}:")
        own = folder / plan.fault.replace(" ", "-")
        own.mkdir()
        outcome = run(plan, own, tell)
        tell(str(outcome))
        verdicts.append(outcome.verdict(plan.fault))
        if outcome.is_fine:
            shutil.rmtree(own)
    lost = [sentence for verdict in verdicts for sentence in verdict.lost]
    broken = [sentence for verdict in verdicts for sentence in verdict.broken]
    return Outcome(figures=None, verdict=Verdict(lost=lost, doubled=(), broken=broken))


def _parser() -> ArgumentParser:
    parser = parser_of("tests.disk_faults", __doc__)
    parser.add_argument("--system", choices=SYSTEMS, default="kraft", help="what is struck (kraft)")
    parser.add_argument("--fault", choices=FAULTS, help="only this fault (each once)")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes and bytes are struck (1)")
    parser.add_argument("--values", type=int, default=2_000, help="appends before the fault strikes (2000)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
