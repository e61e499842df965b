"""A power failure of all nodes loses nothing, and is found to lose what nodes do not flush."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.disk_faults.run import Plan, run
from tests.disk_faults.volume import mounted_volumes

_VALUES = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder below which volumes can be mounted."""
    try:
        with mounted_volumes([tmp_path / "probe"]):
            return tmp_path
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"volumes of one's own need root, loop devices and ext4: {error}")


def test_power_failure_of_all_nodes_loses_nothing(folder: Path) -> None:
    told: list[str] = []

    outcome = run(Plan(system="kraft", fault="power of all", values=_VALUES), folder, told.append)

    assert outcome.is_fine, "\n".join([*told, str(outcome)])
    assert outcome.acknowledged >= _VALUES
    assert not outcome.refused


def test_power_failure_finds_nodes_that_do_not_flush(folder: Path) -> None:
    told: list[str] = []

    outcome = run(Plan(system="kraft without flushes", fault="power of all", values=_VALUES), folder, told.append)

    assert outcome.lost, "\n".join([*told, str(outcome)])
