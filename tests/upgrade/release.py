"""The last release, whose nodes run from its sources in git, without compiled libraries."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tests.processes.commands import ROOT

COMMIT = "8b3200c7e22026d543351f49a8c6f634d3741350"
"""Stands for the last release until there is one: then it is the commit with that tag."""


@dataclass(frozen=True, slots=True)
class Release:
    """The unpacked release.

    Fields:
        folder: has its packages.
    """

    folder: Path

    @property
    def python(self) -> tuple[str, ...]:
        """Python that imports its packages."""
        # With -P the working directory, which has this tree's packages, is not searched for modules.
        return ("env", f"PYTHONPATH={self.folder}", sys.executable, "-P")

    @property
    def kraft(self) -> tuple[str, ...]:
        """Its command `kraft`."""
        return (*self.python, "-m", "raft.cli")


class NoReleaseError(Exception):
    """The checkout does not have the commit."""


def has_whole_history() -> bool:
    """Whether the checkout should have the commit: it is a clone that is not shallow."""
    shallow = _git("rev-parse", "--is-shallow-repository")
    return (ROOT / ".git").exists() and shallow.stdout.strip() == b"false"


def unpack(folder: Path, commit: str = COMMIT) -> Release:
    """Unpack the release.

    Raises:
        NoReleaseError: see there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    archive = folder / "release.tar"
    made = _git("archive", f"--output={archive}", commit, "raft")
    if made.returncode:
        raise NoReleaseError(f"git archive {commit}: {made.stderr.decode(errors='replace').strip()}")
    with tarfile.open(archive) as archived:
        archived.extractall(folder, filter="data")
    archive.unlink()
    return Release(folder)


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, check=False)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(arguments, returncode=127, stdout=b"", stderr=str(error).encode())
