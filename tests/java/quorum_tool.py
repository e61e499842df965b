"""Reads the output of `kafka-metadata-quorum describe` as the values that `kraft quorum describe --json` prints."""

from __future__ import annotations

import json
from typing import Any

_TEXTS = ("ClusterId", "DirectoryId", "Status")


def read_status(text: str) -> dict[str, Any]:
    """Read the output of `--status`: a name, a colon and a value on each line."""
    pairs = (line.split(":", 1) for line in text.splitlines())
    return {name: value.strip() if name in _TEXTS else json.loads(value) for name, value in pairs}


def read_replication(text: str) -> list[dict[str, Any]]:
    """Read the output of `--replication`: a table, each cell followed by a tab.

    Times of `--human-readable` stay as they are: "12 ms ago".
    """
    names, *rows = ([cell.strip() for cell in line.split("\t")[:-1]] for line in text.splitlines())
    return [{name: _cell(name, cell) for name, cell in zip(names, row, strict=True)} for row in rows]


def _cell(name: str, cell: str) -> int | str:
    return cell if name in _TEXTS or cell.endswith(" ms ago") else int(cell)
