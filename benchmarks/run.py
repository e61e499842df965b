"""Measures this project beside its peers, in interleaved rounds: a table of ratios and a picture.

python -m benchmarks.run [--only WORK,...] [--baseline CHECKOUT] [--rounds N] [--short] [--results FOLDER]

A full run writes `peers.md`, `peers.svg` and `peers.json` to `benchmarks/results/`. A run of some works, of another
number of rounds, or a short one writes them to `benchmarks/work/`, so that it does not replace the results of a full
run. A peer that is not installed is left out, and the table names it.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from benchmarks.checkout import Checkout
from benchmarks.conditions import conditions
from benchmarks.contest import BASELINE, OURS, take_turns
from benchmarks.picture import draw
from benchmarks.report import Report
from benchmarks.results import FOLDER
from benchmarks.sizes import FULL, SHORT
from benchmarks.stage import Stage
from benchmarks.table import ratio_rows, table
from benchmarks.works import ALL
from benchmarks.works.work import Work
from raft.errors import ConfigError

_OTHER_RESULTS = Path(__file__).parent / "work"
_DATA = Path(__file__).parents[1] / ".cache" / "bench"
"""On the disk of the checkout, and where no tool looks for code: the folder of a run has a link to this package."""

_NAME = "peers"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the works; return the exit code: 1 if a work failed, 2 if the arguments are invalid."""
    given = _parser().parse_args(arguments)
    try:
        works = _chosen(given.only)
        checkouts = {OURS: Checkout.this()} | ({BASELINE: Checkout.at(given.baseline)} if given.baseline else {})
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    is_whole = works == ALL and not given.short and given.rounds is None
    results = given.results or (FOLDER if is_whole else _OTHER_RESULTS)
    command = ["python", "-m", "benchmarks.run", *(sys.argv[1:] if arguments is None else arguments)]
    report = Report(conditions=conditions(checkouts, command))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt_once)
    started_s = time.monotonic()
    try:
        with Stage(_DATA / f"run-{os.getpid()}", checkouts, SHORT if given.short else FULL) as stage:
            for work in works:
                measure(work, stage, report, rounds=given.rounds)
    except KeyboardInterrupt:
        print("interrupted: all servers are stopped, nothing is written", file=sys.stderr)
        return 130
    report.conditions["duration"] = f"{(time.monotonic() - started_s) / 60:.1f} minutes"
    _write(report, results)
    return 1 if report.failed else 0


def measure(work: Work, stage: Stage, report: Report, *, rounds: int | None = None) -> None:
    """Measure one work; an error ends this work only, and is added to the report.

    Args:
        work: what to measure.
        stage: has its servers.
        report: gets the results.
        rounds: how many count; the number in its sizes if None.
    """
    print(f"== {work.name}", flush=True)
    try:
        with stage.work(work.services):
            samples = take_turns(
                work.steps(stage),
                rounds=rounds or work.rounds(stage.sizes),
                warm_up=stage.sizes.warm_up and work.warms_up,
                progress=lambda words: print(f"   {words}", flush=True),
            )
            report.add(work.name, work.comparisons(stage.sizes), samples, stage.missing)
    except Exception:
        report.failed[work.name] = traceback.format_exc()
        print(report.failed[work.name], file=sys.stderr, flush=True)


def _write(report: Report, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{_NAME}.json").write_text(report.as_json())
    (folder / f"{_NAME}.md").write_text(table(report, picture=f"{_NAME}.svg"))
    if report.lines:
        machine, commit = report.conditions["machine"], report.conditions["commit"]
        draw(report.lines, folder / f"{_NAME}.svg", title=f"commit {commit}; {machine}")
    print("\n".join(ratio_rows(report.lines)))
    for work, words in report.missing.items():
        print(f"{work}: {'; '.join(words)}")
    print(f"written to {folder}")


def _chosen(names: str | None) -> tuple[Work, ...]:
    """Return the works of these names, in the order in which they run.

    Raises:
        ConfigError: a name is unknown.
    """
    if names is None:
        return ALL
    wanted = names.split(",")
    unknown = sorted(set(wanted) - {work.name for work in ALL})
    if unknown:
        known = ", ".join(work.name for work in ALL)
        raise ConfigError(f"--only {names}: {', '.join(unknown)} is not a work; expected some of {known}")
    return tuple(work for work in ALL if work.name in wanted)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="WORK,...", help=f"some of {', '.join(work.name for work in ALL)}")
    parser.add_argument("--baseline", type=Path, metavar="CHECKOUT", help="another checkout, measured too")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds of each work that count")
    parser.add_argument("--short", action="store_true", help="small sizes and one round, to check that everything runs")
    parser.add_argument("--results", type=Path, metavar="FOLDER", help="the folder for the results")
    return parser


def _interrupt_once(number: int, _frame: object) -> None:
    """Exit, so that all blocks end and servers are stopped; a second signal must not interrupt that."""
    for later in (signal.SIGINT, signal.SIGTERM):
        signal.signal(later, signal.SIG_IGN)
    raise KeyboardInterrupt(f"signal {number}")


if __name__ == "__main__":
    sys.exit(main())
