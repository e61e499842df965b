"""Finds secrets in bytes, in each spelling in which a program might write them by accident."""

from __future__ import annotations

import base64
import gzip
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote


class Search:
    """A search for some secrets.

    Args:
        secrets: by the names that the results have.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._spellings = {name: spellings(secret) for name, secret in secrets.items()}

    def in_bytes(self, data: bytes) -> set[str]:
        """Return the names of the secrets that stand in bytes."""
        return {name for name, spelled in self._spellings.items() if any(each in data for each in spelled)}

    def in_folder(self, folder: Path, *, kept: Iterable[bytes] = ()) -> set[tuple[str, str]]:
        """Return where secrets stand in the files of a folder and the names of these files.

        Args:
            folder: of any depth.
            kept: the contents of files that hold the secrets: such files are left out.

        Returns:
            The names of secrets, each with the path of a file in the folder.
        """
        allowed = frozenset(kept)
        found: set[tuple[str, str]] = set()
        for path in sorted(folder.rglob("*")):
            place = str(path.relative_to(folder))
            found |= {(name, place) for name in self.in_bytes(place.encode())}
            if path.is_file() and (content := path.read_bytes()) not in allowed:
                found |= {(name, place) for name in self.in_bytes(content) | self.in_bytes(_unpacked(content))}
        return found


def spellings(secret: str) -> set[bytes]:
    """Return a text as itself, and as JSON, HTML, URLs, Java and the usual encodings write it."""
    plain = secret.encode()
    encoded = {base64.b64encode(b"-" * before + plain)[_skipped(before) : -4] for before in range(3)}
    urls = {each.replace(b"+", b"-").replace(b"/", b"_") for each in encoded}
    wide = {secret.encode(name) for name in ("utf-16-le", "utf-16-be")}
    html = secret.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;").encode()
    text = {plain, html, quote(secret, safe="").encode(), plain[::-1]}
    return text | encoded | urls | wide | {plain.hex().encode(), plain.hex().upper().encode()}


def _skipped(before: int) -> int:
    """Return how many characters of base64 depend on what stands before the text."""
    return 0 if before == 0 else 4


def _unpacked(content: bytes) -> bytes:
    """Return the content of a gzip file; of other files nothing."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return b""
