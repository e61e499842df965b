"""The directory of a node made from a backup: what is refused, and a restore that was interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.backup import restore_backup
from raft.config import NodeConfig
from raft.errors import ConfigError
from raft.storage.disk import DiskFiles
from raft.storage.restore_mark import RESTORE_MARK_NAME
from tests.backup.quorums import without_cluster_id
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, voters_properties
from tests.workload.committed import read_all


def test_directory_with_files_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = without_cluster_id(voters_properties(tmp_path, voters=1)).values()
    log_dir = Path(properties["log.dirs"])
    log_dir.mkdir()
    (log_dir / "notes.txt").write_text("precious")

    with pytest.raises(ConfigError, match=r"is not empty, it has notes\.txt: expected an empty directory$"):
        restore_backup(small, NodeConfig.from_properties(properties))

    assert (log_dir / "notes.txt").read_text() == "precious"


def test_cluster_id_of_the_backup_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()

    with pytest.raises(ConfigError, match=f"^cluster.id={CLUSTER_ID}: expected another cluster id"):
        restore_backup(small, NodeConfig.from_properties(properties))
    with pytest.raises(ConfigError, match=f"^--cluster-id other: expected cluster.id={CLUSTER_ID} as configured"):
        restore_backup(small, NodeConfig.from_properties(properties), cluster_id="other")

    assert not Path(properties["log.dirs"]).exists()


def test_other_topic_is_refused(small: Path, tmp_path: Path) -> None:
    (properties,) = without_cluster_id(voters_properties(tmp_path, voters=1, raft__topic__name="other")).values()

    with pytest.raises(ConfigError, match=r"^raft\.topic\.name=other and "):
        restore_backup(small, NodeConfig.from_properties(properties))


@pytest.mark.parametrize("step", range(1, 13))
def test_interrupted_restore_is_refused_by_the_node_and_replaced_by_another_restore(
    small: Path, tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    configurations = without_cluster_id(voters_properties(tmp_path, voters=1))
    config = NodeConfig.from_properties(configurations[1])
    calls = 0

    class Crash(BaseException):
        pass

    def crashing(method: str) -> None:
        real = getattr(DiskFiles, method)

        def maybe(self: DiskFiles, *arguments: str) -> object:
            nonlocal calls
            calls += 1
            if calls == step:
                raise Crash
            return real(self, *arguments)

        monkeypatch.setattr(DiskFiles, method, maybe)

    with monkeypatch.context():
        for method in ("create", "rename", "sync_directory", "remove"):
            crashing(method)
        with pytest.raises(Crash):
            restore_backup(small, config)
        monkeypatch.undo()
    if (config.log_dir / RESTORE_MARK_NAME).exists():
        with NodesInProcess(configurations) as nodes, pytest.raises(ConfigError, match="a restore was interrupted"):
            nodes.start()
    else:
        assert sorted(path.name for path in config.log_dir.iterdir()) in (
            [".lock"],
            [".lock", f"{RESTORE_MARK_NAME}.tmp"],
        ), "nothing was begun"

    restore_backup(small, config)

    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            assert [record.value for record in read_all(client)] == [b"%d" % number * 50 for number in range(6)]
