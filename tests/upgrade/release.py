"""The last release, whose nodes run from its unpacked source distribution, without compiled libraries."""

from __future__ import annotations

import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

VERSION = "0.2.0"
ARCHIVE = Path(__file__).parent / f"kraft_spark-{VERSION}.tar.gz"


@dataclass(frozen=True, slots=True)
class Release:
    """The unpacked release.

    Fields:
        folder: has its packages.
    """

    folder: Path

    @property
    def kraft(self) -> tuple[str, ...]:
        """Its command `kraft`."""
        # With -P the working directory, which has this tree's packages, is not searched for modules.
        return ("env", f"PYTHONPATH={self.folder}", sys.executable, "-P", "-m", "raft.cli")


def unpack(folder: Path) -> Release:
    """Unpack the release."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return Release(folder / f"kraft_spark-{VERSION}")
