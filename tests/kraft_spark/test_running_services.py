"""Which service a start returns: the one that runs, or a new one."""

from __future__ import annotations

from pathlib import Path

import pytest

from kraft_spark.running_services import RunningServices, StartArguments
from raft.errors import ConfigError

SAME = StartArguments(voters=3, base_port=None, settings={}, listen="loopback")
OTHER = StartArguments(voters=1, base_port=None, settings={}, listen="loopback")


class Starts:
    """Services that are numbered as they are started."""

    def __init__(self) -> None:
        self.count = 0
        self.over: set[str] = set()
        self.running: RunningServices[str] = RunningServices()

    def get(self, directory: Path, arguments: StartArguments = SAME) -> str:
        return self.running.get_or_start(directory, arguments, self._start, is_usable=lambda one: one not in self.over)

    def _start(self) -> str:
        self.count += 1
        return f"service {self.count}"


def test_directory_has_one_service_however_it_is_spelt(tmp_path: Path) -> None:
    starts = Starts()
    (tmp_path / "link").symlink_to(tmp_path / "data")

    found = [starts.get(tmp_path / name) for name in ("data", "link", "link/../data", "other")]

    assert found == ["service 1", "service 1", "service 1", "service 2"]


def test_start_with_other_arguments_is_refused_at_once(tmp_path: Path) -> None:
    starts = Starts()
    starts.get(tmp_path)

    with pytest.raises(ConfigError) as refusal:
        starts.get(tmp_path, OTHER)

    said = str(refusal.value)
    assert f"this process already runs a quorum on {tmp_path} with voters=3, base_port=None, settings={{}}" in said
    assert "not with voters=1" in said
    assert "call its stop() first" in said
    assert starts.count == 1


def test_another_service_is_started_after_the_end_of_the_first(tmp_path: Path) -> None:
    starts = Starts()
    starts.over.add(starts.get(tmp_path))
    second = starts.get(tmp_path, OTHER)
    starts.running.forget(second)
    starts.running.forget("unknown")

    assert starts.get(tmp_path) == "service 3"


def test_service_that_does_not_start_is_not_remembered(tmp_path: Path) -> None:
    starts = Starts()

    def fail() -> str:
        raise ConfigError("refused")

    with pytest.raises(ConfigError, match="refused"):
        starts.running.get_or_start(tmp_path, SAME, fail, is_usable=lambda _: True)

    assert starts.get(tmp_path, OTHER) == "service 1"
