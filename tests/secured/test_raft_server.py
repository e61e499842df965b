"""Kafka's TestRaftServer and a node of ours start from the same file, which secures both, and continue one log."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.properties import format_properties
from tests.java.kafka import Kafka
from tests.java.raft_server import raft_server_voters
from tests.java.test_raft_server import epoch_led_by
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft, kraft_json
from tests.processes.node_process import NodeProcess
from tests.secured.secured_voters import PlainVoters, ScramVoters, SecuredVoters

pytestmark = pytest.mark.java

_SOME_BYTES = 2_000
"""More than the record of the leader's election."""


@pytest.mark.rule("AUTH-1")
@pytest.mark.parametrize(
    "make", [pytest.param(SecuredVoters, id="SSL"), pytest.param(PlainVoters, id="SASL_SSL PLAIN")]
)
def test_node_of_either_kind_continues_the_log_of_the_other_one(
    kafka: Kafka, tmp_path: Path, make: type[SecuredVoters]
) -> None:
    security = make(tmp_path, [1])
    (properties,) = raft_server_voters(tmp_path, 1, security.properties(1)).values()
    client = tmp_path / "client.properties"
    client.write_text(format_properties(security.client_properties()))
    with (
        kafka.raft_server(properties, tmp_path / "node", records_per_s=100) as java,
        NodeProcess(properties, tmp_path / "node") as ours,
    ):
        server = ("--bootstrap-server", str(ours.endpoint), "--command-config", str(client))
        first_epoch = epoch_led_by(java.start())
        eventually(lambda: java.segment.stat().st_size > _SOME_BYTES, "Java appends records")
        given = java.config_file.read_bytes()
        java.stop()
        ours.start().wait_until_printed("-> Leader")
        kraft("append", *server, "from Python").require_success()
        rows = kraft_json("read", *server)
        ours.stop()
        last_epoch = epoch_led_by(java.start())
        java.stop()

    assert java.config_file == ours.config_file
    assert ours.config_file.read_bytes() == given
    assert {row["epoch"] for row in rows[:-1]} == {first_epoch}
    assert (rows[-1]["epoch"], rows[-1]["value"]) == (first_epoch + 1, "from Python")
    assert last_epoch == first_epoch + 2


@pytest.mark.rule("AUTH-5", "AUTH-6")
def test_raft_server_of_kafka_knows_no_credentials_for_scram(kafka: Kafka, tmp_path: Path) -> None:
    # Kafka's controllers and brokers take them from records of the metadata (ScramPublisher). A TestRaftServer has no
    # such records: its CredentialProvider stays empty.
    security = ScramVoters(tmp_path, [1])
    (properties,) = raft_server_voters(tmp_path, 1, security.properties(1)).values()
    with (
        kafka.raft_server(properties, tmp_path / "node", records_per_s=10) as java,
        NodeProcess(properties, tmp_path / "node") as ours,
    ):
        epoch_led_by(java.start())
        of_java = security.response_to_scram(java.endpoint)
        java.stop()
        ours.start().wait_until_printed("-> Leader")
        of_ours = security.response_to_scram(ours.endpoint)

    assert of_java.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert of_ours.error_code == ErrorCode.NONE
