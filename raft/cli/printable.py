"""Escapes text from a log or a server for a terminal; see `raft.printable`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from raft.printable import printable


def for_standard_output(text: str) -> str:
    """Escape text for a terminal; return it unchanged for a pipe or a file, as `ls` does."""
    return printable(text) if sys.stdout.isatty() else text


def to_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> str:
    """Return JSON in printable ASCII."""
    return json.dumps(value, default=default).replace("\x7f", "\\u007f")
