"""Fuzzes all decoders of the project.

    python -m tests.fuzz --inputs 1000000 --seed 7            progress, and at the end what came of it
    python -m tests.fuzz --seed 7 --first 1234 --inputs 1     one input again

The exit code is 1 when a decoder broke its promise; then the input is printed, and the command that repeats it.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.soak import Report, shares_accepted, soak

_CHUNK_SIZE = 50_000


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks for; return the exit code."""
    options = _parser().parse_args(arguments)
    started_s = time.monotonic()

    def tell(report: Report) -> None:
        inputs_a_second = report.input_count / (time.monotonic() - started_s)
        print(f"{report.input_count:>9} of {options.inputs} inputs, {inputs_a_second:.0f} a second", flush=True)

    report = soak(
        seed=options.seed,
        input_count=options.inputs,
        first_number=options.first,
        chunk_size=_CHUNK_SIZE,
        on_chunk=tell,
    )
    for name, share in shares_accepted(report):
        print(f"{'none' if share is None else f'{share:.0%}':>9} accepted: {name}")
    print(report.breach or f"seed {options.seed}: fine")
    return 1 if report.breach else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="how many (10000)")
    parser.add_argument("--seed", type=int, default=1, help="another one makes other inputs (1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
