"""Java's properties files, as far as storage needs them: `key=value` lines, `#` and `!` comments, backslash escapes.

Source: java.util.Properties.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PAIR = re.compile(r"((?:\\.|[^\\=:\s])+)\s*[=:\s]\s*(.*)", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_TO_ESCAPE = re.compile(r"([\\=:#!\s])")


def format_properties(pairs: Mapping[str, str]) -> bytes:
    """Return the file that says this, keys in order."""
    text = "".join(f"{_escape(key)}={_escape(value)}\n" for key, value in sorted(pairs.items()))
    # The name of a directory has its own bytes where the locale has no characters for it (LC_ALL=C).
    return text.encode("utf-8", "surrogateescape")


def parse_properties(content: bytes) -> dict[str, str]:
    """Return what the file says. Lines of another form are passed over; of equal keys the last one counts."""
    pairs: dict[str, str] = {}
    for line in content.decode(errors="replace").splitlines():
        stripped = line.strip()
        if stripped.startswith(("#", "!")):
            continue
        pair = _PAIR.fullmatch(stripped)
        if pair:
            pairs[_ESCAPED.sub(r"\1", pair[1])] = _ESCAPED.sub(r"\1", pair[2])
    return pairs


def _escape(text: str) -> str:
    return _TO_ESCAPE.sub(r"\\\1", text)
