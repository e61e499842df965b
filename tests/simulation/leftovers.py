"""What a node that stopped has left of snapshots in its directory."""

from __future__ import annotations

from collections.abc import Collection

from raft.storage.snapshots import INSTALLING_SUFFIX, MAKING_SUFFIX, PART_SUFFIX
from tests.simulation.marks import Mark

_LEFTOVERS = {
    MAKING_SUFFIX: Mark.SNAPSHOT_LEFT_UNFINISHED,
    PART_SUFFIX: Mark.DOWNLOAD_LEFT_UNFINISHED,
    INSTALLING_SUFFIX: Mark.INSTALLATION_INTERRUPTED,
}


def marks_of_leftovers(names: Collection[str]) -> list[Mark]:
    """Return which work on snapshots was interrupted, by the names of the files."""
    return [mark for suffix, mark in _LEFTOVERS.items() if any(name.endswith(suffix) for name in names)]
