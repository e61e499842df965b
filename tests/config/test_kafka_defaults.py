"""Defaults that are Kafka's, and where ours have other reasons (rules GEN-15, TIMER-8, TIMER-9)."""

from __future__ import annotations

import pytest

from raft.config import NodeConfig
from raft.errors import ConfigError

LEAST = {
    "node.id": "1",
    "controller.quorum.voters": "1@one:9093",
    "listeners": "CONTROLLER://one:9093",
    "log.dirs": "/first",
    "cluster.id": "kq5mZl0zT0uJwXUxQKo9gQ",
}
MEBIBYTE = 1 << 20


def config(changes: dict[str, str] | None = None) -> NodeConfig:
    return NodeConfig.from_properties(LEAST | (changes or {}))


@pytest.mark.rule("GEN-15")
def test_quorum_partition_is_that_of_a_controller_quorum() -> None:
    assert (config().topic_name, config().topic_id) == ("__cluster_metadata", "AAAAAAAAAAAAAAAAAAAAAQ")


@pytest.mark.rule("GEN-15")
def test_quorum_partition_is_what_the_configuration_says() -> None:
    performance_test = config({"raft.topic.name": "__raft_performance_test", "raft.topic.id": "AAAAAAAAAAAAAAAAAAAAAg"})

    assert performance_test.topic_name == "__raft_performance_test"
    assert performance_test.topic_id == "AAAAAAAAAAAAAAAAAAAAAg"


@pytest.mark.rule("TIMER-8")
def test_batch_may_have_8_mebibytes() -> None:
    assert config().message_max_bytes == 8 * MEBIBYTE


@pytest.mark.rule("TIMER-9")
def test_segment_has_a_gibibyte_and_may_have_8_mebibytes_at_least() -> None:
    assert config().segment_bytes == 1024 * MEBIBYTE
    assert config({"metadata.log.segment.bytes": str(8 * MEBIBYTE)}).segment_bytes == 8 * MEBIBYTE
    with pytest.raises(ConfigError, match=r"metadata\.log\.segment\.bytes"):
        config({"metadata.log.segment.bytes": str(8 * MEBIBYTE - 1)})


@pytest.mark.rule("TIMER-9")
def test_log_is_in_metadata_log_dir_or_in_the_only_log_dir() -> None:
    assert str(config().log_dir) == "/first"
    assert str(config({"metadata.log.dir": "/own", "log.dirs": "/first,/second"}).log_dir) == "/own"
    with pytest.raises(
        ConfigError, match=r"^log\.dirs=/first,/second: expected one directory, because a node has one log"
    ):
        config({"log.dirs": "/first,/second"})
