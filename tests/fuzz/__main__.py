"""Fuzzes all decoders of the project.

    python -m tests.fuzz --inputs 1000000 --seed 7            prints the progress, and the result at the end
    python -m tests.fuzz --seed 7 --first 1234 --inputs 1     repeats one input

The exit code is 1 if a decoder violated its contract; then the input and the command that repeats it are printed.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.fuzz.soak import Report, shares_accepted, soak

_CHUNK_SIZE = 50_000


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    started_s = time.monotonic()

    def print_progress(report: Report) -> None:
        inputs_a_second = report.input_count / (time.monotonic() - started_s)
        print(f"{report.input_count:>9} of {options.inputs} inputs, {inputs_a_second:.0f} a second", flush=True)

    report = soak(
        seed=options.seed,
        input_count=options.inputs,
        first_number=options.first,
        chunk_size=_CHUNK_SIZE,
        on_chunk=print_progress,
    )
    for name, share in shares_accepted(report):
        print(f"{'none' if share is None else f'{share:.0%}':>9} accepted: {name}")
    print(report.violation or f"seed {options.seed}: ok")
    return 1 if report.violation else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--inputs", type=int, default=10_000, help="number of inputs (10000)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the inputs (1)")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (0)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
