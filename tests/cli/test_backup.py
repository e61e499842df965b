"""`kraft backup` and `kraft restore`, from a quorum of processes to another one."""

from __future__ import annotations

import re
import tarfile
from pathlib import Path

from tests.cli.in_process import KraftInProcess
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import CLUSTER_ID, voters_properties, write_properties
from tests.processes.kraft import kraft
from tests.processes.node_quorum import NodeQuorum
from tests.workload.committed import read_all


def test_quorum_is_copied_to_another_one_by_commands(tmp_path: Path) -> None:
    backup = tmp_path / "quorum.backup"
    with NodeQuorum(tmp_path / "source", voters_properties(tmp_path / "source")).start() as quorum:
        with quorum.client() as client:
            for number in range(5):
                client.append(batch_of(b"%d" % number))
            before = read_all(client)
        taken = kraft("backup", "--bootstrap-server", quorum.bootstrap_servers, str(backup)).require_success()
        quorum.kill()
    new = {
        node_id: {key: value for key, value in properties.items() if key != "cluster.id"}
        for node_id, properties in voters_properties(tmp_path / "restored").items()
    }
    options: tuple[str, ...] = ()
    for node_id, properties in new.items():
        config = write_properties(tmp_path / f"{node_id}.properties", properties)
        done = kraft("restore", str(backup), str(config), *options).require_success()
        (cluster_id,) = re.findall(r"^new cluster id: (\S+)$", done, re.MULTILINE)
        options = ("--cluster-id", cluster_id)
    with NodeQuorum(tmp_path / "restored", new).start() as restored, restored.client() as client:
        after = read_all(client)
        assert client.cluster_id == cluster_id
        restored.settle()

    assert taken.startswith(f"backup of cluster {CLUSTER_ID}, topic __cluster_metadata, of ")
    assert kraft("backup", "--verify", str(backup)).require_success() == taken
    assert after == before
    assert cluster_id != CLUSTER_ID


def test_damage_is_one_line(here: KraftInProcess, nodes: NodesInProcess, tmp_path: Path) -> None:
    backup = tmp_path / "quorum.backup"
    assert here("backup", "--bootstrap-server", str(nodes.endpoint(1)), str(backup)).exit_code == 0
    with tarfile.open(backup) as tar:
        member = tar.getmembers()[0]
    content = bytearray(backup.read_bytes())
    content[member.offset_data + 40] ^= 1
    backup.write_bytes(content)

    done = here("backup", "--verify", str(backup))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors.startswith(f"kraft: {backup}: member {member.name} is damaged at byte 0: ")


def test_backup_is_verified_without_a_quorum(here: KraftInProcess, tmp_path: Path) -> None:
    done = here("backup", str(tmp_path / "file"), "--verify", "--bootstrap-server", "localhost:1")

    assert done.exit_code == 2
    assert "--verify asks no quorum: remove --bootstrap-server" in done.errors
