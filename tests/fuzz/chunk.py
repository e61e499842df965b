"""Tries a run of inputs in a process of its own, so that nothing a decoder does can harm more than this process.

python -m tests.fuzz.chunk JOB PROGRESS        JOB as `Job.to_json` writes it, PROGRESS a file

Its address space is limited, which also limits what libraries allocate outside of Python. It ends when one input takes
too much processor time, also inside of C. Before each input it writes the input's number into PROGRESS, so that the
number can be read when the process is dead. It prints its results.
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
from tests.fuzz.trial import BreachError, trial, warm_up

ADDRESS_SPACE_BYTES = 512 << 20
"""Beyond what the process has once all samples have been decoded. zstd alone may ask for 128 MiB, hardly touched, for
the window that a frame announces; the rest is for the allocators, which keep what they got."""

NUMBER = struct.Struct("=q")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Inputs first_number to end_number of a seed, for a table of decoders.

    Fields:
        table: "module:name" of the table.
        processor_time_s: most that one input may take.
    """

    table: str
    seed: int
    first_number: int
    end_number: int
    processor_time_s: float

    def to_json(self) -> str:
        """The form on the command line."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What became of the inputs.

    Fields:
        verdicts: how often each decoder accepted and refused: "decoder/verdict".
        breach_number, breach: the first input that broke something, and what; None if none did.
    """

    verdicts: dict[str, int]
    breach_number: int | None = None
    breach: str | None = None


def load_table(table: str) -> Sequence[Decoder]:
    """Return the decoders of a table by its name."""
    module, _, name = table.partition(":")
    decoders: Sequence[Decoder] = getattr(importlib.import_module(module), name)
    return decoders


def run(job: Job, progress: memoryview) -> Found:
    """Try all inputs up to the first that breaks something."""
    decoders = load_table(job.table)
    warm_up(decoders)
    _limit_address_space()
    verdicts: Counter[str] = Counter()
    for number in range(job.first_number, job.end_number):
        NUMBER.pack_into(progress, 0, number)
        # No handler is installed for the signal, so it ends the process wherever it is.
        signal.setitimer(signal.ITIMER_PROF, job.processor_time_s)
        each = trial(decoders, job.seed, number)
        try:
            verdict = each.judge()
        except BreachError as breach:
            return Found(verdicts=dict(verdicts), breach_number=number, breach=str(breach))
        verdicts[f"{each.decoder.name}/{verdict.value}"] += 1
    signal.setitimer(signal.ITIMER_PROF, 0)
    return Found(verdicts=dict(verdicts))


def _limit_address_space() -> None:
    # Only Linux tells how much there is, and only there the limit means what its name says.
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit_bytes = pages * resource.getpagesize() + ADDRESS_SPACE_BYTES
        resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))


def main() -> None:
    """Do the job of the command line."""
    job, progress = Job(**json.loads(sys.argv[1])), Path(sys.argv[2])
    # Logs that are opened warn of what they cut off, thousands of times.
    logging.disable(logging.CRITICAL)
    with progress.open("r+b") as file, mmap.mmap(file.fileno(), NUMBER.size) as shared, memoryview(shared) as view:
        found = run(job, view)
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
