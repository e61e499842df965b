"""A process that uses as much processor time as the neighbour did, and sends nothing: the control of a hostile run.

    python -m tests.hostile.burner SECONDS PROCESSOR_SECONDS

It prints `BEGINS` when it begins.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

BEGINS = "the control begins"

_SLICE_S = 0.01


def burn(duration_s: float, processor_s: float) -> None:
    """Use processor time, evenly over a while.

    Args:
        duration_s: for how long.
        processor_s: how much in all.
    """
    begun_s, used_before_s = time.monotonic(), time.process_time()
    share = processor_s / duration_s
    while (elapsed_s := time.monotonic() - begun_s) < duration_s:
        if time.process_time() - used_before_s >= share * elapsed_s:
            time.sleep(_SLICE_S)


def main(arguments: Sequence[str]) -> None:
    """Do what the command line asks for."""
    print(BEGINS, flush=True)
    burn(float(arguments[0]), float(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
