"""Java `.properties` text: one `key=value` a line, `#` and `!` comments, backslash escapes and continued lines.

Source: java.util.Properties, load and store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPES = str.maketrans(
    {character: f"\\{letter}" for letter, character in _CONTROL.items()} | {sign: f"\\{sign}" for sign in "\\=:#!"}
)


def parse_properties(text: str) -> dict[str, str]:
    """Return the properties in a text; a key that is given twice keeps its last value."""
    properties = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None, "the pattern matches any line"
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def format_properties(properties: Mapping[str, str]) -> str:
    """Return a text from which `parse_properties` reads the same properties, in the order of their keys."""
    return "".join(f"{_escape_key(key)}={_escape_value(value)}\n" for key, value in sorted(properties.items()))


def _logical_lines(text: str) -> Iterator[str]:
    """Yield the lines, continued lines joined, without comments and leading blanks."""
    pending = ""
    for raw in _LINE_END.split(text):
        line = raw.lstrip(_BLANKS)
        if not pending and (not line or line[0] in "#!"):
            continue
        pending += line
        trailing_backslashes = len(pending) - len(pending.rstrip("\\"))
        if trailing_backslashes % 2:
            pending = pending[:-1]
            continue
        yield pending
        pending = ""
    if pending:
        yield pending


def _unescape(text: str) -> str:
    def replacement(match: re.Match[str]) -> str:
        escaped = match[1]
        if len(escaped) > 1:
            return chr(int(escaped[1:], 16))
        return _CONTROL.get(escaped, escaped)

    return _ESCAPE.sub(replacement, text)


def _escape_key(key: str) -> str:
    return key.translate(_ESCAPES).replace(" ", "\\ ")


def _escape_value(value: str) -> str:
    escaped = value.translate(_ESCAPES)
    # Blanks before a value would be skipped, so they are escaped; those inside it are kept.
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
