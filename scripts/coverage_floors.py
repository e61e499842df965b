"""Compares the measured coverage with the floors in pyproject.toml: `python -m scripts.coverage_floors`.

`make coverage` calls it after the tests. It prints the percentage of statements and branches for each part, and for a
part below its floor the lines that no test reaches.
"""

from __future__ import annotations

import io
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The coverage of one part of the product.

    Fields:
        path: folder or file, from the root of the repository.
        floor: the lowest accepted percentage.
        percentage: of its statements and branches that the tests reach.
        missing: the table of coverage with what they do not reach.
    """

    path: str
    floor: float
    percentage: float
    missing: str

    @property
    def is_below_floor(self) -> bool:
        """Whether the percentage is below the floor."""
        return self.percentage < self.floor


def configured_floors() -> Mapping[str, float]:
    """Return the floor of each part, by path."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    floors: Mapping[str, float] = tools["kraft-spark"]["coverage-floors"]
    return floors


def measure(coverage: Coverage, floors: Mapping[str, float]) -> Iterator[Part]:
    """Yield the parts in the order of the floors."""
    for path, floor in floors.items():
        table = io.StringIO()
        pattern = path if path.endswith(".py") else f"{path}/*"
        percentage = coverage.report(
            include=[pattern], file=table, show_missing=True, skip_covered=True, precision=2, ignore_errors=False
        )
        yield Part(path=path, floor=floor, percentage=percentage, missing=table.getvalue())


def main() -> None:
    coverage = Coverage()
    coverage.load()
    parts = list(measure(coverage, configured_floors()))
    for part in parts:
        print(f"{part.path:24}{part.percentage:8.2f} %   at least {part.floor} %")
    below = [part for part in parts if part.is_below_floor]
    for part in below:
        print(f"\n{part.path} is below its floor of {part.floor} %: add tests for these lines.\n\n{part.missing}")
    sys.exit(bool(below))


if __name__ == "__main__":
    main()
