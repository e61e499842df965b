"""Many inputs, chunk by chunk, each chunk in a process of its own (see `chunk`)."""

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
_LAST_WORDS = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """An input that broke something, all of which its seed and number say."""

    seed: int
    number: int
    what: str
    content: bytes

    def __str__(self) -> str:
        return (
            f"input {self.number} of seed {self.seed} broke: {self.what}\n"
            f"again: python -m tests.fuzz --seed {self.seed} --first {self.number} --inputs 1\n"
            f"bytes: {self.content.hex()}"
        )


@dataclass(slots=True, kw_only=True)
class Report:
    """What came out of all chunks so far.

    Fields:
        input_count: how many inputs did no harm.
        verdicts: how often each decoder accepted and refused.
        breach: the input that ended it; None if none did.
    """

    input_count: int = 0
    verdicts: Counter[tuple[str, Verdict]] = field(default_factory=Counter)
    breach: Breach | None = None

    def share_accepted(self, decoder: str) -> float | None:
        """Share of a decoder's inputs that it accepted; None if it got none."""
        accepted, refused = (self.verdicts[decoder, verdict] for verdict in Verdict)
        return accepted / (accepted + refused) if accepted + refused else None

    def add(self, found: Found) -> None:
        """Count what a chunk found, apart from its breach."""
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
    """Try inputs until one breaks something or all are done.

    Args:
        seed: says, with its number, what an input is.
        input_count: how many.
        first_number: of the first.
        chunk_size: how many a process tries.
        table: "module:name" of the decoders.
        processor_time_s: most that one input may take.
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
        if found.breach is not None:
            report.breach = _breach(job, found)
        on_chunk(report)
        if report.breach is not None:
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
        return Found(verdicts={}, breach_number=number, breach=_death(child))


def _death(child: subprocess.CompletedProcess[str]) -> str:
    if child.returncode == -signal.SIGPROF:
        return "it takes too much processor time"
    how = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit code {child.returncode}"
    return f"the process ended with {how}: {child.stderr[-_LAST_WORDS:]}"


def _breach(job: Job, found: Found) -> Breach:
    assert found.breach_number is not None
    assert found.breach is not None
    culprit = trial(load_table(job.table), job.seed, found.breach_number)
    what = found.breach if found.breach.startswith(str(culprit)) else f"{culprit}: {found.breach}"
    return Breach(seed=job.seed, number=found.breach_number, what=what, content=culprit.content)


def shares_accepted(report: Report, table: str = TABLE) -> Iterator[tuple[str, float | None]]:
    """Yield each decoder's name and the share of its inputs that it accepted."""
    for decoder in load_table(table):
        yield decoder.name, report.share_accepted(decoder.name)
