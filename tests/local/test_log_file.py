"""The log of a voter: rotated by size, and complete from the first line that its process writes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from raft.config import NodeConfig
from raft.local import LocalQuorum
from raft.local.log_file import rotate_full_log
from raft.types import NodeId
from tests.local.conftest import QUICK
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually

SMALL = QUICK | {"raft.node.log.max.bytes": "600", "raft.node.log.old.files": "2"}


def test_log_of_a_voter_is_bounded(tmp_path: Path) -> None:
    folder = tmp_path / "node-1"
    with LocalQuorum.start(tmp_path, voters=1, settings=SMALL) as quorum:
        for _ in range(4):
            (pid,) = quorum.pids.values()
            os.kill(pid, signal.SIGKILL)
            killed = {None, pid}
            eventually(lambda: quorum.pids.get(NodeId(1)) not in killed, "another process")  # noqa: B023
            with quorum.client() as client:
                client.describe_quorum()

    assert sorted(path.name for path in folder.glob("node.log*")) == ["node.log", "node.log.1", "node.log.2"]
    assert "shut down" in (folder / "node.log").read_text().splitlines()[-1]


def test_log_that_is_full_is_renamed_before_a_process_starts(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1, raft__node__log__max__bytes="10").values()
    log = tmp_path / "node.log"
    config = NodeConfig.from_properties(properties)
    rotate_full_log(log, config)
    log.write_text("short")
    rotate_full_log(log, config)
    was_kept = log.exists()
    log.write_text("longer than ten bytes")

    rotate_full_log(log, config)

    assert was_kept
    assert not log.exists()
    assert (tmp_path / "node.log.1").read_text() == "longer than ten bytes"


def test_traceback_of_a_process_that_cannot_begin_to_log_is_in_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text("raise SystemError('cannot begin')\n")
    quorum = LocalQuorum.start(tmp_path / "quorum", voters=1, settings=SMALL)
    log = tmp_path / "quorum" / "node-1" / "node.log"
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(broken)
    try:
        (pid,) = quorum.pids.values()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: any("cannot begin" in path.read_text() for path in log.parent.glob("node.log*")), "it")
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
        quorum.stop()
