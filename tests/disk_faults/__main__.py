"""The faults of Jepsen's report on NATS 2.12.1, against five real nodes on file systems that lose unflushed writes.

    sudo python -m tests.disk_faults
    sudo python -m tests.disk_faults --system nats --fault "power of all" --seed 7

Each node has an ext4 file system of its own in a file, mounted through a loop device, so it needs root and Linux. It
prints for each fault how many acknowledged values are lost, and exits with code 1 if there are any, if the log cannot
be read or takes no appends afterwards. Then the output of the nodes is kept.

For `--system nats`, `bash scripts/ensure_nats.sh` installs the server of that report and its client.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from tests.disk_faults.faults import FAULTS
from tests.disk_faults.run import Plan, run
from tests.disk_faults.systems import SYSTEMS


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    is_fine = True
    for fault in [options.fault] if options.fault else FAULTS:
        folder = Path(tempfile.mkdtemp(prefix="disk-faults-"))
        plan = Plan(system=options.system, fault=fault, seed=options.seed, values=options.values)
        print(f"{plan.system}, {plan.fault}, seed {plan.seed}:", flush=True)
        outcome = run(plan, folder, partial(print, flush=True))
        print(outcome, flush=True)
        if outcome.is_fine:
            shutil.rmtree(folder)
        else:
            is_fine = False
            print(f"the output of the nodes is in {folder}")
    return 0 if is_fine else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.disk_faults", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--system", choices=SYSTEMS, default="kraft", help="what is struck (kraft)")
    parser.add_argument("--fault", choices=FAULTS, help="only this fault (each once)")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes and bytes are struck (1)")
    parser.add_argument("--values", type=int, default=2_000, help="appends before the fault strikes (2000)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
