"""Text that came from a log or a server, in a form that a terminal only shows.

A record's value is whatever a client wrote. Printed as it is, it could move the cursor, hide or forge lines, set the
window's title, or make the terminal type an answer: by control characters of C0 and C1, and by the characters that
change the direction of text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any

_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Controls but TAB, which separates key and value; marks, embeddings, overrides and isolates of direction; the line and
paragraph separators."""

_SHORT = {"\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """Escape control characters as Python does in a literal, newlines too. A backslash stays as it is."""
    return _UNSAFE.sub(_escape, text)


def for_standard_output(text: str) -> str:
    """Escape what goes to a terminal; leave it alone in a pipe or a file, as `ls` does."""
    return printable(text) if sys.stdout.isatty() else text


def to_json(value: Any, *, default: Callable[[Any], Any] | None = None) -> str:
    """JSON in printable ASCII, wherever it goes."""
    return json.dumps(value, default=default).replace("\x7f", "\\u007f")


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")
