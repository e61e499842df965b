"""kafka-metadata-quorum, asked for brokers: it turns to any node, and every node has to know what the leader knows."""

from __future__ import annotations

import pytest

from raft.local import LocalQuorum
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft_json, settled
from tests.java.quorum_tool import read_replication, read_status

pytestmark = pytest.mark.java

_TIMES = ("LastFetchTimestamp", "LastCaughtUpTimestamp", "LagTimeMs")


@pytest.mark.rule("DESCRIBE-3", "DESCRIBE-7")
@pytest.mark.parametrize("node_id", [1, 2, 3])
@pytest.mark.parametrize("form", ["--status", "--replication"])
def test_quorum_tool_describes_the_quorum_whichever_broker_it_is_told(
    kafka: Kafka, quorum: LocalQuorum, node_id: int, form: str
) -> None:
    with quorum.client() as client:
        settled(client, quorum.pids)
    server = quorum.bootstrap_servers.split(",")[node_id - 1]

    text = kafka.program(MainClass.METADATA_QUORUM).output("--bootstrap-server", server, "describe", form, timeout_s=90)

    (ours,) = kraft_json("quorum", "describe", "--bootstrap-server", server, form)
    if form == "--status":
        theirs = read_status(text)
        assert theirs | {"MaxFollowerLagTimeMs": 0} == ours | {"MaxFollowerLagTimeMs": 0}
    else:
        timeless = [{name: value for name, value in row.items() if name not in _TIMES} for row in ours]
        assert [{name: row[name] for name in timeless[0]} for row in read_replication(text)] == timeless
