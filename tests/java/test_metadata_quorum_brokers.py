"""kafka-metadata-quorum with brokers: it asks any node, so every node must respond with what the leader knows."""

from __future__ import annotations

import pytest

from tests.java.kafka import Kafka, MainClass
from tests.java.quorum_tool import read_replication, read_status
from tests.processes.kraft import kraft, kraft_json
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

_TIMES = ("LastFetchTimestamp", "LastCaughtUpTimestamp", "LagTimeMs")


def expect_our_words(kafka: Kafka, server: str, form: str) -> None:
    """Run kafka-metadata-quorum; it must print what `kraft quorum describe` prints, except for times."""
    text = kafka.output(MainClass.METADATA_QUORUM, "--bootstrap-server", server, "describe", form, within_s=90)

    (ours,) = kraft_json("quorum", "describe", "--bootstrap-server", server, form)
    if form == "--status":
        theirs = read_status(text)
        assert theirs | {"MaxFollowerLagTimeMs": 0} == ours | {"MaxFollowerLagTimeMs": 0}
    else:
        timeless = [{name: value for name, value in row.items() if name not in _TIMES} for row in ours]
        assert [{name: row[name] for name in timeless[0]} for row in read_replication(text)] == timeless


@pytest.mark.rule("DESCRIBE-3", "DESCRIBE-7", "DESCRIBE-13")
@pytest.mark.parametrize("node_id", [1, 2, 3])
@pytest.mark.parametrize("form", ["--status", "--replication"])
def test_quorum_tool_describes_the_quorum_whichever_broker_it_gets(
    kafka: Kafka, quorum: NodeQuorum, node_id: int, form: str
) -> None:
    quorum.settle()
    server = quorum.bootstrap_servers.split(",")[node_id - 1]

    expect_our_words(kafka, server, form)


@pytest.mark.rule("DESCRIBE-3", "DESCRIBE-8")
def test_quorum_tool_describes_the_quorum_through_the_other_brokers_when_a_voter_is_down(
    kafka: Kafka, nodes: NodeQuorum
) -> None:
    leader_id = nodes.leader_id()
    dead_id, follower_id = nodes.followers_of(leader_id)
    nodes.nodes[dead_id].kill()
    kraft("append", "--bootstrap-server", nodes.bootstrap_servers, "the dead one lags behind").require_success()
    nodes.settle()

    # The tool finds a node that runs among all of them; the address of one follower is enough too.
    for servers in (nodes.bootstrap_servers, str(nodes.nodes[follower_id].endpoint)):
        for form in ("--status", "--replication"):
            expect_our_words(kafka, servers, form)
