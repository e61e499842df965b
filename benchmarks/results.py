"""Shows and writes figures with the machine, the commit and the command."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

from benchmarks.checkout import Checkout

Figures = dict[str, float]

FOLDER = Path(__file__).parent / "results"


def record(name: str, command: str, figures: Figures, *, keep: bool) -> None:
    """Print a table; a full run is also written to `benchmarks/results/`."""
    width = max(len(label) for label in figures)
    for label, value in figures.items():
        print(f"{label:<{width}}  {value:12.3f}")
    if keep:
        text = {"command": command, "machine": machine(), "commit": Checkout.this().commit, "figures": figures}
        FOLDER.mkdir(exist_ok=True)
        (FOLDER / f"{name}.json").write_text(json.dumps(text, indent=2) + "\n")


def machine() -> str:
    """Return processor, cores and Python."""
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    return (
        f"{model}, {os.cpu_count()} cores, {platform.system()} {platform.release()}, Python {platform.python_version()}"
    )
