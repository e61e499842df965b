"""A session asks other nodes for a newer leader while the response of the known leader is overdue."""

from __future__ import annotations

import pytest

from raft.client import calls
from raft.client.session import Session
from raft.codec import Message
from raft.errors import QuorumUnavailableError
from raft.types import Offset
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from tests.client.kafka import EPOCH, FOLLOWER, LEADER, Controller, a_batch, a_cluster, a_table
from tests.client.table import PLACES, TOPIC, Late, Response, Table, metadata, node, session

BATCH = b"a batch that carries its writer's key"


def appended(offset: int = 7) -> ProduceResponse:
    partition = ProduceResponsePartition(index=0, error_code=0, base_offset=offset)
    return ProduceResponse(responses=(ProduceResponseTopic(name=TOPIC, partition_responses=(partition,)),))


def append(asking: Session, table: Table) -> int:
    return table.run(calls.append(asking, table.deadline(), BATCH)).base_offset


def produced(table: Table) -> list[tuple[int, bytes]]:
    """Which node got which bytes to append, in order."""
    ids = {place: node_id for node_id, place in PLACES.items()}
    return [
        (ids[ask.endpoint], partition.records or b"")
        for ask in table.asked
        if isinstance(ask.request, ProduceRequest)
        for topic in ask.request.topic_data
        for partition in topic.partition_data
    ]


def test_newer_leader_gets_the_same_request_before_the_first_one_times_out() -> None:
    table = Table(
        {
            PLACES[1]: node(None, knows=metadata(1, epoch=3)),
            PLACES[2]: node(appended(), knows=[metadata(1, epoch=3), metadata(2, epoch=4)]),
            PLACES[3]: node(knows=[metadata(1, epoch=3), metadata(2, epoch=4)]),
        }
    )
    asking = session(1)
    began_ms = table.now_ms

    assert append(asking, table) == 7
    assert produced(table) == [(1, BATCH), (2, BATCH)]
    assert table.given_up == [PLACES[1]]
    assert asking.epoch == 4
    assert table.now_ms - began_ms < asking.settings.request_timeout_ms


def test_others_are_asked_in_turn_with_growing_pauses_until_the_request_times_out() -> None:
    follower = node(knows=metadata(1))
    table = Table({PLACES[1]: node(None, knows=metadata(1)), PLACES[2]: follower, PLACES[3]: follower})

    with pytest.raises(QuorumUnavailableError, match="last failure: node1:9091: no response in time"):
        table.run(calls.append(session(1), table.deadline(1_040), BATCH))

    assert table.places_asked == [PLACES[node_id] for node_id in (1, 1, 2, 3, 2, 3)]
    assert [asked_ms - table.asked_at_ms[1] for asked_ms in table.asked_at_ms[2:]] == [500, 551, 652, 853]
    assert table.given_up == []


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(metadata(1, epoch=3), id="the same leader"),
        pytest.param(metadata(2, epoch=2), id="a lower epoch"),
        pytest.param(metadata(2, epoch=3), id="another leader of the same epoch"),
        pytest.param(metadata(None, epoch=4), id="an election in a higher epoch"),
        pytest.param(metadata(1, epoch=4), id="the same node, elected again"),
        pytest.param("Connection refused", id="nothing"),
    ],
)
def test_session_waits_for_a_slow_leader_when_no_other_node_names_a_newer_one(known: Response) -> None:
    table = Table({PLACES[1]: node(Late(appended(), after_ms=900)), PLACES[2]: node(appended(99), knows=known)})
    asking = session(1)

    assert append(asking, table) == 7
    assert produced(table) == [(1, BATCH)], "a second request would only be more to do for a slow quorum"
    assert table.given_up == []
    assert asking.epoch == 3


def test_leader_of_an_epoch_below_one_that_was_seen_is_not_newer() -> None:
    table = Table(
        {PLACES[1]: node(Late(appended(), after_ms=900)), PLACES[2]: node(appended(99), knows=metadata(2, epoch=5))}
    )
    asking = session(1)
    table.run(asking.find_software(table.deadline()))
    asking.epoch += 5  # type: ignore[assignment]  # as if the same node had been elected again

    assert append(asking, table) == 7
    assert table.given_up == []


def test_node_that_does_not_respond_is_skipped_while_the_leader_does_not_respond() -> None:
    table = Table(
        {
            PLACES[1]: node(None),
            PLACES[2]: node(appended(), knows=metadata(2, epoch=4)),
            PLACES[3]: lambda request: node()(request) if isinstance(request, ApiVersionsRequest) else None,
        }
    )
    assert append(session(1, request_timeout_ms=5_000), table) == 7
    assert produced(table) == [(1, BATCH), (2, BATCH)]


def test_session_waits_for_the_only_node() -> None:
    table = Table({PLACES[1]: node(Late(appended(), after_ms=990), knows=metadata(1, nodes=(1,)))})

    assert append(session(1), table) == 7
    assert len(table.asked) == 2


def test_session_waits_as_long_as_the_node_may_hold_the_request() -> None:
    table = Table({PLACES[1]: node(None)})

    with pytest.raises(QuorumUnavailableError):
        table.run(calls.fetch_committed(session(1), table.deadline(900), Offset(0), max_bytes=1 << 20, max_wait_ms=300))

    assert table.asked[1].patience_ms == 800


def test_session_keeps_its_leader_when_a_node_of_another_cluster_is_at_an_endpoint() -> None:
    stranger = node(knows=metadata(2, epoch=4, cluster_id="another"))
    table = Table({PLACES[1]: node(Late(appended(), after_ms=900)), PLACES[2]: stranger, PLACES[3]: stranger})

    assert append(session(1), table) == 7
    assert table.given_up == []


def test_server_that_never_responds_is_skipped_and_gets_more_time_in_each_round() -> None:
    table = Table({PLACES[1]: lambda _: None, PLACES[2]: node(knows=metadata(None, nodes=(1, 2)))})

    with pytest.raises(QuorumUnavailableError):
        append(session(1, 2), table)

    assert [ask.timeout_ms for ask in table.asked if ask.endpoint == PLACES[1]][:4] == [500, 1_000, 1_000, 1_000]


def test_controller_with_a_request_in_flight_is_sent_no_other_one() -> None:
    """Kafka's controllers name the leader in two steps: the second request would go to the suspended leader itself."""
    table = a_table(Controller([a_batch(0, epoch=EPOCH)]))
    asking = session(FOLLOWER)
    table.run(asking.find_software(table.deadline()))
    table.nodes[PLACES[LEADER]] = lambda _: None

    with pytest.raises(QuorumUnavailableError):
        table.run(calls.end_of_epoch(asking, table.deadline(900), asking.epoch))

    assert a_cluster().controller_id == LEADER
    assert table.places_asked[-2:] == [PLACES[FOLLOWER], PLACES[FOLLOWER]]


def test_kafka_voter_beside_our_nodes_gets_only_an_api_versions_request() -> None:
    """A TestRaftServer lists DescribeCluster, and logs an error when it gets one."""
    asked: list[Message] = []

    def kafkas(request: Message) -> Response:
        asked.append(request)
        return ApiVersionsResponse(error_code=0, api_keys=()) if isinstance(request, ApiVersionsRequest) else None

    table = Table(
        {
            PLACES[1]: node(Late(appended(), after_ms=900), knows=metadata(1, topics=("events",))),
            PLACES[2]: kafkas,
            PLACES[3]: kafkas,
        }
    )

    assert append(session(1), table) == 7
    assert {type(request) for request in asked} == {ApiVersionsRequest}
