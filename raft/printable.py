"""Escapes text that others have chosen, for a terminal or a log.

A client can write any value into a record, and a certificate may have any name. Control characters of C0 and C1, and
characters that change the direction of text, could move the cursor, hide or forge lines, set the title of the window,
or make the terminal send input.
"""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Control characters except TAB, which separates key and value; characters for the direction of text; the separators of
lines and paragraphs."""

_SHORT = {"\n": "\\n", "\r": "\\r"}


def printable(text: str) -> str:
    """Escape control characters and newlines as in a literal of Python. Backslashes are not escaped."""
    return _UNSAFE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}")
