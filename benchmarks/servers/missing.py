"""A peer that is not installed."""

from __future__ import annotations

import shutil


class MissingPeerError(Exception):
    """A peer cannot run here; names the program that is missing and how to install it."""


def require_programs(*names: str, needed_for: str, advice: str) -> None:
    """Check that programs are installed.

    Raises:
        MissingPeerError: some are not.
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        raise MissingPeerError(f"{needed_for} needs {' and '.join(missing)}; {advice}")
