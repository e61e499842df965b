"""Kafka's command line tools describe the quorum in each way to connect, with `--command-config`.

Their user may only describe, except where it has no name.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.hang import HANG_S
from tests.java.kafka import Kafka, MainClass
from tests.java.quorum_tool import read_replication, read_status
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.secured.access import Access
from tests.secured.secured_quorum import MONITOR, READER, SecuredQuorum
from tests.secured.ways import SCRAM, WAYS, Way

pytestmark = pytest.mark.java

_TRANSACTIONAL_ID = "tools"

Run = Callable[..., str]
"""Runs one of Kafka's programs with its arguments, and returns its output."""


@pytest.fixture(scope="module")
def quorum_with_transaction(quorum: SecuredQuorum) -> SecuredQuorum:
    """The quorum, in which a transactional producer has committed a record."""
    access = quorum.access(SCRAM)
    settings = {"bootstrap.servers": access.bootstrap_servers, "transactional.id": _TRANSACTIONAL_ID}
    producer = Producer(settings | access.librdkafka())
    producer.init_transactions(HANG_S)
    producer.begin_transaction()
    producer.produce(TOPIC, value=b"of a transaction")
    producer.commit_transaction(HANG_S)
    return quorum


def prints_status(run: Run, access: Access, quorum: SecuredQuorum) -> None:
    printed = run(MainClass.METADATA_QUORUM, "--bootstrap-controller", access.bootstrap_servers, "describe", "--status")

    status = read_status(printed)
    assert (status["ClusterId"], status["LeaderId"]) == (CLUSTER_ID, quorum.leader_id())
    assert [voter["id"] for voter in status["CurrentVoters"]] == list(quorum.nodes)


def prints_replication(run: Run, access: Access, quorum: SecuredQuorum) -> None:
    place = ("--bootstrap-server", access.bootstrap_servers)

    rows = read_replication(run(MainClass.METADATA_QUORUM, *place, "describe", "--replication"))

    assert sorted(row["NodeId"] for row in rows) == list(quorum.nodes)
    assert {row["NodeId"] for row in rows if row["Status"] == "Leader"} == {quorum.leader_id()}


def lists_transactions(run: Run, access: Access, _quorum: SecuredQuorum) -> None:
    printed = run(MainClass.TRANSACTIONS, "--bootstrap-server", access.bootstrap_servers, "list")

    assert _TRANSACTIONAL_ID in {line.split()[0] for line in printed.splitlines()[1:]}, printed


def prints_offsets(run: Run, access: Access, quorum: SecuredQuorum) -> None:
    place = ("--bootstrap-server", access.bootstrap_servers, "--topic", TOPIC)

    printed = run(MainClass.GET_OFFSETS, *place)

    assert printed.split() == [f"{TOPIC}:0:{quorum.end_offset()}"]


@pytest.mark.rule("AUTH-1", "ACL-2")
@pytest.mark.parametrize(
    ("user", "check"),
    [
        pytest.param(MONITOR, prints_status, id="kafka-metadata-quorum --status"),
        pytest.param(MONITOR, prints_replication, id="kafka-metadata-quorum --replication"),
        pytest.param(MONITOR, lists_transactions, id="kafka-transactions"),
        pytest.param(READER, prints_offsets, id="kafka-get-offsets"),
    ],
)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_tool_describes_the_quorum(
    kafka: Kafka,
    quorum_with_transaction: SecuredQuorum,
    way: Way,
    user: str,
    check: Callable[[Run, Access, SecuredQuorum], None],
    tmp_path: Path,
) -> None:
    access = quorum_with_transaction.access(way, user)
    command_config = str(access.write(tmp_path / "client.properties"))

    def run(program: MainClass, *arguments: str) -> str:
        return kafka.output(program, *arguments[:2], "--command-config", command_config, *arguments[2:])

    check(run, access, quorum_with_transaction)
