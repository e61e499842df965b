"""Which nodes a session fetches from besides the leader."""

from __future__ import annotations

import pytest

from raft.client import calls
from raft.client.settings import ReadFrom
from raft.types import Endpoint
from raft.wire.messages.list_offsets import (
    LATEST_TIMESTAMP,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsResponsePartition,
    ListOffsetsResponseTopic,
)
from tests.client import kafka
from tests.client.reading import LEADER, SECOND, THIRD, fetched, fetches, lookups, named, places, quorum, reading
from tests.client.table import CLUSTER_ID, PLACES, TOPIC, Node, Table, metadata, node, session


@pytest.mark.rule("READ-4")
def test_leader_alone_is_asked_by_default_and_no_other_node_is_looked_up() -> None:
    table = quorum()

    assert reading(table, session(1)).records == b"of node 1"
    assert (fetches(table), lookups(table)) == (places(1), places(1))


@pytest.mark.parametrize(("turn", "reader"), [(0, SECOND), (1, THIRD), (2, SECOND), (12_345, THIRD)])
@pytest.mark.rule("READ-4")
def test_clients_with_other_numbers_read_from_other_nodes_and_spare_the_leader(turn: int, reader: int) -> None:
    table, client = quorum(), session(1, read_from=ReadFrom.ANY, turn=turn)

    found = [reading(table, client) for _ in range(3)]

    assert {(each.records, each.reader) for each in found} == {(b"of node %d" % reader, PLACES[reader])}
    assert fetches(table) == places(reader) * 3
    assert lookups(table) == places(1, 2, 3), "only once"


def in_racks(**racks: str) -> Table:
    """A quorum of nodes that know their own rack: `node2="a"`."""
    return Table(
        {
            PLACES[node_id]: node(named(node_id), knows=metadata(1, racks=own))
            for node_id in (1, 2, 3)
            for own in [{node_id: racks[f"node{node_id}"]} if f"node{node_id}" in racks else {}]
        }
    )


@pytest.mark.parametrize(
    ("racks", "turn", "reader"),
    [
        pytest.param({"node2": "a", "node3": "b"}, 0, THIRD, id="the other one"),
        pytest.param({"node2": "a", "node3": "b"}, 1, THIRD, id="whichever has the turn"),
        pytest.param({"node2": "b", "node3": "b"}, 1, THIRD, id="several"),
        pytest.param({"node2": "b"}, 0, SECOND, id="others have none"),
    ],
)
@pytest.mark.rule("READ-4")
def test_nearest_reader_has_the_rack_of_the_client(racks: dict[str, str], turn: int, reader: int) -> None:
    table, client = in_racks(**racks), session(1, read_from=ReadFrom.NEAREST, rack="b", turn=turn)

    assert reading(table, client).reader == PLACES[reader]


@pytest.mark.parametrize("racks", [{}, {"node1": "b"}, {"node2": "a", "node3": "B"}])
@pytest.mark.rule("READ-4")
def test_leader_is_asked_when_no_other_node_has_the_rack(racks: dict[str, str]) -> None:
    table, client = in_racks(**racks), session(1, read_from=ReadFrom.NEAREST, rack="b")

    found = [reading(table, client) for _ in range(2)]

    assert [each.reader for each in found] == [None, None]
    assert fetches(table) == places(1, 1)
    assert lookups(table) == places(1, 2, 3), "that no node has it is remembered"


def ends_at(offset: int, *, epoch: int = 3) -> ListOffsetsResponse:
    partition = ListOffsetsResponsePartition(
        partition_index=0, error_code=0, timestamp=-1, offset=offset, leader_epoch=epoch
    )
    return ListOffsetsResponse(topics=(ListOffsetsResponseTopic(name=TOPIC, partitions=(partition,)),))


@pytest.mark.rule("READ-4")
def test_end_of_the_log_is_asked_of_the_leader() -> None:
    table = quorum()
    table.nodes[PLACES[LEADER]] = node(ends_at(9))
    client = session(2, read_from=ReadFrom.ANY)

    found = table.run(calls.find_offset(client, table.deadline(), LATEST_TIMESTAMP))

    assert found is not None
    assert found.offset == 9
    asked = [each.endpoint for each in table.asked if isinstance(each.request, ListOffsetsRequest)]
    assert asked == places(LEADER)


@pytest.mark.rule("READ-4")
def test_observer_that_only_the_client_knows_is_a_reader() -> None:
    table = Table(
        {
            PLACES[LEADER]: node(named(LEADER), knows=metadata(1, nodes=(1, 2))),
            PLACES[SECOND]: node(named(SECOND), knows=metadata(1, nodes=(1, 2))),
            PLACES[THIRD]: node(named(THIRD), knows=metadata(1, nodes=(1, 2, 3))),
        }
    )

    assert reading(table, session(1, read_from=ReadFrom.ANY, turn=0)).reader == PLACES[SECOND]
    assert reading(table, session(3, read_from=ReadFrom.ANY, turn=0)).reader == PLACES[THIRD]


@pytest.mark.rule("READ-4")
def test_leader_is_no_reader_under_another_name() -> None:
    table = Table({PLACES[LEADER]: node(named(LEADER), knows=metadata(1, nodes=(1,)))})
    other_name = Endpoint("one", PLACES[LEADER].port)
    table.nodes[other_name] = table.nodes[PLACES[LEADER]]
    client = session(1, read_from=ReadFrom.ANY)
    client.servers.insert(0, other_name)

    assert reading(table, client).reader is None
    assert fetches(table) == places(LEADER)


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(node(knows=metadata(1, cluster_id="another")), id="of another cluster"),
        pytest.param(node(knows=metadata(1, topics=("another",))), id="with another topic"),
        pytest.param(kafka.a_follower, id="of Kafka"),
        pytest.param(lambda _: "Connection refused", id="dead"),
    ],
)
@pytest.mark.rule("READ-4")
def test_node_that_does_not_follow_this_log_is_no_reader(stranger: Node) -> None:
    table = quorum()
    table.nodes[PLACES[SECOND]] = stranger
    client = session(1, cluster_id=CLUSTER_ID, topic=TOPIC, read_from=ReadFrom.ANY)

    assert reading(table, client).reader == PLACES[THIRD]
    assert fetches(table) == places(THIRD)


@pytest.mark.rule("READ-4")
def test_readers_are_looked_up_again_after_the_client_starts_over() -> None:
    table, client = quorum(), session(1, read_from=ReadFrom.ANY)
    reading(table, client)

    client.start_over(cluster_id=CLUSTER_ID, epoch=client.epoch)
    reading(table, client)

    assert lookups(table) == places(1, 2, 3) * 2


@pytest.mark.rule("READ-4")
def test_reader_that_has_become_the_leader_is_a_reader_no_longer() -> None:
    table, client = quorum(), session(1, read_from=ReadFrom.ANY)
    assert reading(table, client).reader == PLACES[SECOND]
    newer = metadata(SECOND, epoch=4)
    table.nodes = {
        PLACES[SECOND]: node(ends_at(9, epoch=4), knows=newer),
        PLACES[THIRD]: node(fetched(records=b"of node 3", epoch=4), knows=newer),
    }
    table.run(calls.find_offset(client, table.deadline(), LATEST_TIMESTAMP))

    assert reading(table, client).reader == PLACES[THIRD]
    assert fetches(table) == places(SECOND, THIRD)
