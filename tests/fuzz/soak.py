"""Runs many inputs, in chunks with a process each (see `chunk`)."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.chunk import NUMBER, Found, Job, load_table
from tests.fuzz.trial import Verdict, trial

ROOT = Path(__file__).parents[2]
TABLE = "tests.fuzz.decoders:DECODERS"
PROCESSOR_TIME_S = 20.0
_STDERR_CHARACTERS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """An input that caused a violation. Its seed and number determine it."""

    seed: int
    number: int
    what: str
    content: bytes

    def __str__(self) -> str:
        return (
            f"input {self.number} of seed {self.seed} violates the contract: {self.what}\n"
            f"repeat: python -m tests.fuzz --seed {self.seed} --first {self.number} --inputs 1\n"
            f"bytes: {self.content.hex()}"
        )


@dataclass(slots=True, kw_only=True)
class Report:
    """The results of all chunks so far.

    Fields:
        input_count: the number of inputs without a violation.
        verdicts: how often each decoder accepted and refused.
        violation: the input that caused a violation; None if there is none.
    """

    input_count: int = 0
    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    violation: Violation | None = None

    def share_accepted(self, decoder: str) -> float | None:
        """Return the share of a decoder's inputs that it accepted; None if it got none."""
        accepted, refused = (self.verdicts[decoder, verdict] for verdict in Verdict)
        return accepted / (accepted + refused) if accepted + refused else None

    def add(self, found: Found) -> None:
        """Add the counts of a chunk."""
        for name, count in found.verdicts.items():
            decoder, _, verdict = name.rpartition("/")
            self.verdicts[decoder, Verdict(verdict)] += count
            self.input_count += count


def soak(
    *,
    seed: int,
    input_count: int,
    first_number: int = 0,
    chunk_size: int = 50_000,
    table: str = TABLE,
    processor_time_s: float = PROCESSOR_TIME_S,
    on_chunk: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Run inputs until one causes a violation or all are done.

    Args:
        seed: the seed of the inputs.
        input_count: the number of inputs.
        first_number: the number of the first input.
        chunk_size: the number of inputs for one process.
        table: "module:name" of the decoders.
        processor_time_s: the processor time that one input may take.
        on_chunk: called after each chunk.
    """
    report = Report()
    end_number = first_number + input_count
    for number in range(first_number, end_number, chunk_size):
        job = Job(
            table=table,
            seed=seed,
            first_number=number,
            end_number=min(number + chunk_size, end_number),
            processor_time_s=processor_time_s,
        )
        found = _run_in_child(job)
        report.add(found)
        if found.violation is not None:
            report.violation = _violation(job, found)
        on_chunk(report)
        if report.violation is not None:
            break
    return report


def _run_in_child(job: Job) -> Found:
    with tempfile.NamedTemporaryFile() as progress:
        progress.write(NUMBER.pack(job.first_number))
        progress.flush()
        child = subprocess.run(
            [sys.executable, "-W", "error", "-m", "tests.fuzz.chunk", job.to_json(), progress.name],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        if child.returncode == 0:
            return Found(**json.loads(child.stdout))
        (number,) = NUMBER.unpack(Path(progress.name).read_bytes())
        return Found(verdicts={}, violation_number=number, violation=_death(child))


def _death(child: subprocess.CompletedProcess[str]) -> str:
    if child.returncode == -signal.SIGPROF:
        return "too much processor time"
    how = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit code {child.returncode}"
    return f"the process ended with {how}: {child.stderr[-_STDERR_CHARACTERS:]}"


def _violation(job: Job, found: Found) -> Violation:
    assert found.violation_number is not None
    assert found.violation is not None
    culprit = trial(load_table(job.table), job.seed, found.violation_number)
    what = found.violation if found.violation.startswith(str(culprit)) else f"{culprit}: {found.violation}"
    return Violation(seed=job.seed, number=found.violation_number, what=what, content=culprit.content)


def shares_accepted(report: Report, table: str = TABLE) -> Iterator[tuple[str, float | None]]:
    """Yield each decoder's name and the share of its inputs that it accepted."""
    for decoder in load_table(table):
        yield decoder.name, report.share_accepted(decoder.name)
