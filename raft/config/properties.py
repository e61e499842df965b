"""Java `.properties` text: one `key=value` a line, `#` and `!` comments, backslash escapes and continued lines.

Source: java.util.Properties.load.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from raft.config.values import HIDDEN, is_secret
from raft.errors import ConfigError

_BLANKS = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_PAIR = re.compile(r"((?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


def read_properties(path: Path) -> dict[str, str]:
    """Read a file of properties; a byte order mark at its beginning, as editors of Windows write it, is skipped.

    Raises:
        ConfigError: the file cannot be read, or is no text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"got byte 0x{error.object[error.start]:02x} at byte {error.start}"
        raise ConfigError(f"cannot read {path}: expected a properties file in UTF-8, {found}") from error
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return parse_properties(text)


def parse_properties(text: str) -> dict[str, str]:
    """Parse properties; a key given twice keeps its last value, as in Java."""
    properties = {}
    for line in _logical_lines(text):
        match = _PAIR.fullmatch(line)
        assert match is not None, "the pattern takes any line"
        properties[_unescape(match[1])] = _unescape(match[2])
    return properties


def parse_overrides(overrides: Iterable[str]) -> dict[str, str]:
    """Parse `key=value` arguments of a command line.

    Raises:
        ConfigError: an argument without `=`.
    """
    pairs = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key.strip():
            shown = HIDDEN if is_secret(override) else override
            raise ConfigError(f"--override {shown}: allowed is key=value")
        pairs[key.strip()] = value.strip()
    return pairs


def _logical_lines(text: str) -> Iterator[str]:
    """Lines without comments, leading blanks and line breaks behind a backslash."""
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
