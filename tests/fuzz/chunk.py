"""Runs a range of inputs in a process of its own, so that a decoder can crash no other process.

python -m tests.fuzz.chunk JOB PROGRESS        JOB as `Job.to_json` writes it, PROGRESS a file

Its address space is limited, which also limits what libraries allocate outside of Python. It ends when one input takes
too much processor time, also in C code. Before each input it writes the number of the input to PROGRESS, so that the
number is known if the process dies. It prints its results.
"""

from __future__ import annotations

import importlib
import json
import logging
import mmap
import resource
import signal
import struct
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.fuzz.decoder import Decoder
from tests.fuzz.trial import ViolationError, trial, warm_up

ADDRESS_SPACE_BYTES = 512 << 20
"""The limit above what the process has once all samples are decoded. zstd alone may reserve 128 MiB for the window that
a frame announces; the rest is for the allocators, which do not return memory."""

NUMBER = struct.Struct("=q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Inputs first_number to end_number of a seed, for a table of decoders.

    Fields:
        table: "module:name" of the table.
        processor_time_s: the processor time that one input may take.
    """

    table: str
    seed: int
    first_number: int
    end_number: int
    processor_time_s: float

    def to_json(self) -> str:
        """Return the job as an argument of the command line."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The results of a chunk.

    Fields:
        verdicts: how often each decoder accepted and refused: "decoder/verdict".
        violation_number, violation: the first input that caused a violation, and the violation; None if there was none.
    """

    verdicts: dict[str, int]
    violation_number: int | None = None
    violation: str | None = None


def load_table(table: str) -> Sequence[Decoder]:
    """Return the decoders of the table with this name."""
    module, _, name = table.partition(":")
    decoders: Sequence[Decoder] = getattr(importlib.import_module(module), name)
    return decoders


def run(job: Job, progress: memoryview) -> Found:
    """Run all inputs up to the first that causes a violation."""
    decoders = load_table(job.table)
    warm_up(decoders)
    _limit_address_space()
    verdicts: Counter[str] = Counter()
    for number in range(job.first_number, job.end_number):
        NUMBER.pack_into(progress, 0, number)
        # The signal has no handler, so it ends the process, also in C code.
        signal.setitimer(signal.ITIMER_PROF, job.processor_time_s)
        each = trial(decoders, job.seed, number)
        try:
            verdict = each.run()
        except ViolationError as violation:
            return Found(verdicts=dict(verdicts), violation_number=number, violation=str(violation))
        verdicts[f"{each.decoder.name}/{verdict.value}"] += 1
    signal.setitimer(signal.ITIMER_PROF, 0)
    return Found(verdicts=dict(verdicts))


def _limit_address_space() -> None:
    # Only Linux reports the present size, and only there the limit applies to the address space.
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit_bytes = pages * resource.getpagesize() + ADDRESS_SPACE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def main() -> None:
    """Run the job of the command line."""
    job, progress = Job(**json.loads(sys.argv[1])), Path(sys.argv[2])
    # Opening a log warns of truncated records, thousands of times.
    logging.disable(logging.CRITICAL)
    with progress.open("r+b") as file, mmap.mmap(file.fileno(), NUMBER.size) as shared, memoryview(shared) as view:
        found = run(job, view)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
