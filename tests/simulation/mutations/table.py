"""The table of planted bugs: which invariant caught each, and with which seed."""

from __future__ import annotations

from collections.abc import Sequence

Row = tuple[str, str, int]
"""Bug, invariant, seed."""

_TITLES = ("planted bug", "caught by", "seed")


def table_of(rows: Sequence[Row]) -> list[str]:
    """Return the table, line by line."""
    cells = [_TITLES, *((bug, invariant, str(seed)) for bug, invariant, seed in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(_TITLES))]
    lines = [f"{bug:<{widths[0]}}  {invariant:<{widths[1]}}  {seed:>{widths[2]}}" for bug, invariant, seed in cells]
    return [lines[0], "-" * len(lines[0]), *lines[1:]]
