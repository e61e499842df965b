"""Paths in configuration values."""

from __future__ import annotations

import os
from pathlib import Path


def file_path(text: str) -> Path:
    """Return the path of a file or a directory."""
    # Where the locale has no characters for the bytes of a path (LC_ALL=C), Python has surrogates for them.
    return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))
