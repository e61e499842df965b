"""The last release as the tests of upgrades get it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.upgrade.release import NoReleaseError, Release, unpack


def test_nodes_of_the_release_run_its_own_modules(release: Release) -> None:
    command = [*release.python, "-c", "import raft.node; print(raft.node.__file__)"]

    found = subprocess.run(command, capture_output=True, check=True, text=True).stdout

    assert Path(found.strip()) == release.folder / "raft" / "node" / "__init__.py"


def test_checkout_without_the_commit_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoReleaseError, match="git archive 00000000"):
        unpack(tmp_path, "0" * 40)
