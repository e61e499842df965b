"""The text of `seeds.py`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SEEDS_FILE = Path(__file__).with_name("seeds.py")

_BEGINNING = SEEDS_FILE.read_text().partition("CATCHING_SEEDS:")[0]


def seeds_module(seeds: Mapping[str, int]) -> str:
    """Return the text of `seeds.py`.

    Args:
        seeds: the seed that caught each bug, by the name of the bug.
    """
    lines = "".join(f'    "{name}": {seed},\n' for name, seed in sorted(seeds.items()))
    return f"{_BEGINNING}CATCHING_SEEDS: Mapping[str, int] = {{\n{lines}}}\n"
