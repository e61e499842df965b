"""`meta.properties` and `partition.metadata`: the node and topic to which a directory belongs."""

import pytest

from raft.errors import ConfigError, StorageError
from raft.properties import parse_properties
from raft.storage.files import Files
from raft.storage.meta_properties import MetaProperties, claim_directory
from raft.storage.partition_metadata import claim_partition
from raft.types import ZERO_UUID, NodeId, Uuid
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import crash_at_every_call

ENTROPY = bytes(range(16))
DIRECTORY_ID = Uuid("AAECAwQFBgcICQoLDA0ODw")
TOPIC_ID = Uuid("AAAAAAAAAAAAAAAAAAAAAQ")


def claim(
    files: Files, *, cluster_id: str | None = "cluster", node_id: int = 1, entropy: bytes = ENTROPY
) -> MetaProperties:
    return claim_directory(files, cluster_id=cluster_id, node_id=NodeId(node_id), entropy=entropy)


def with_meta_properties(text: str) -> MemoryFiles:
    files = MemoryFiles()
    files.put("meta.properties", text.encode())
    return files


@pytest.mark.rule("STATE-17", "BOOT-2")
def test_directory_becomes_ours_at_the_first_start(files: Files) -> None:
    owner = claim(files)

    assert owner == MetaProperties(cluster_id="cluster", node_id=NodeId(1), directory_id=DIRECTORY_ID)
    assert parse_properties(files.read("meta.properties").decode()) == {
        "version": "1",
        "cluster.id": "cluster",
        "node.id": "1",
        "directory.id": DIRECTORY_ID,
    }


def test_directory_keeps_its_id_when_started_again(files: Files) -> None:
    first = claim(files)

    assert claim(files, entropy=b"\xee" * 16) == first


def test_cluster_is_what_the_directory_says_when_not_configured() -> None:
    files = MemoryFiles()
    claim(files, cluster_id="mine")

    assert claim(files, cluster_id=None).cluster_id == "mine"


def test_cluster_is_the_zero_uuid_when_neither_file_nor_configuration_names_one() -> None:
    assert claim(MemoryFiles(), cluster_id=None).cluster_id == ZERO_UUID


def test_directory_is_refused_with_both_names_when_of_another_node() -> None:
    files = MemoryFiles()
    claim(files, node_id=1)

    with pytest.raises(ConfigError, match=r"memory:/meta.properties has node.id=1, expected node.id=2 as configured"):
        claim(files, node_id=2)


def test_directory_is_refused_with_both_names_when_of_another_cluster() -> None:
    files = MemoryFiles()
    claim(files, cluster_id="ours")

    with pytest.raises(ConfigError, match=r"cluster.id=ours, expected cluster.id=theirs as configured"):
        claim(files, cluster_id="theirs")


def test_file_of_kafka_is_read() -> None:
    files = with_meta_properties(
        "#\n#Sat Aug 22 17:34:22 UTC 2026\ncluster.id=Some\\:cluster\n"
        "directory.id=9cQOuJBsTJyRnYbBrvXlXg\nnode.id=1\nversion=1\n"
    )

    owner = claim(files, cluster_id="Some:cluster")

    assert owner.directory_id == "9cQOuJBsTJyRnYbBrvXlXg"


def test_blanks_behind_a_value_are_not_part_of_it() -> None:
    files = with_meta_properties("version=1 \ncluster.id=cluster \nnode.id=1 \n")

    assert claim(files).cluster_id == "cluster"


def test_directory_gets_an_id_when_it_is_older_than_such_ids() -> None:
    files = with_meta_properties("cluster.id=cluster\nnode.id=1\nversion=1\n")

    assert claim(files).directory_id == DIRECTORY_ID
    assert claim(files, entropy=b"\xee" * 16).directory_id == DIRECTORY_ID


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "version=None", id="empty"),
        pytest.param("cluster.id=c\nbroker.id=1\nversion=0\n", "version=0", id="ZooKeeper's version"),
        pytest.param("version=1\nnode.id=1\n", "cluster.id is missing", id="no cluster"),
        pytest.param("version=1\ncluster.id=c\n", "node.id=None", id="no node"),
        pytest.param("version=1\ncluster.id=c\nnode.id=one\n", "node.id=one", id="node id that is no number"),
        pytest.param("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=short\n", "directory.id=short", id="short id"),
        pytest.param(
            "version=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAECAwQFBgcICQoLDA0ODx\n",
            "directory.id=AAECAwQFBgcICQoLDA0ODx is not a uuid",
            id="id with bits beyond its sixteen bytes",
        ),
    ],
)
def test_file_is_refused_when_malformed(text: str, reason: str) -> None:
    with pytest.raises(StorageError, match=f"memory:/meta.properties: .*{reason}"):
        claim(with_meta_properties(text))


def test_identity_is_written_or_not_when_the_power_fails_at_any_call() -> None:
    for case, files in crash_at_every_call(lambda files: None, claim):
        assert claim(files).directory_id == DIRECTORY_ID, case


@pytest.mark.rule("STATE-17")
def test_partition_is_of_our_topic_at_the_first_start(files: Files) -> None:
    claim_partition(files, "partition.metadata", TOPIC_ID)
    claim_partition(files, "partition.metadata", TOPIC_ID)

    assert files.read("partition.metadata") == b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"


def test_partition_is_refused_with_both_names_when_of_another_topic() -> None:
    files = MemoryFiles()
    files.put("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAg")

    with pytest.raises(ConfigError, match=f"AAAAAAAAAAAAAAAAAAAAAg, expected {TOPIC_ID} as configured"):
        claim_partition(files, "partition.metadata", TOPIC_ID)


@pytest.mark.parametrize("text", ["", "version: 1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version: 0\ntopic_id: short"])
def test_partition_is_refused_when_its_file_is_malformed(text: str) -> None:
    files = MemoryFiles()
    files.put("partition.metadata", text.encode())

    with pytest.raises(StorageError, match="is malformed"):
        claim_partition(files, "partition.metadata", TOPIC_ID)
