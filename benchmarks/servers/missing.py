"""A peer that this machine does not have."""

from __future__ import annotations

import shutil


class MissingPeerError(Exception):
    """A peer cannot be run here; says which program is missing and how to get it."""


def require_programs(*names: str, needed_for: str, advice: str) -> None:
    """Check that programs are installed.

    Raises:
        MissingPeerError: some are not.
    """
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        raise MissingPeerError(f"{needed_for} needs {' and '.join(missing)}; {advice}")
