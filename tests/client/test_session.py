"""Which node a session asks, which response it accepts, and when it gives up."""

from __future__ import annotations

import pytest

from raft.client.discovery import LeaderNode, Topic
from raft.client.failures import NEEDED_RULE
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Operation
from raft.codec import Message
from raft.errors import ConfigError, ErrorCode, QuorumUnavailableError, RequestError, error_name
from raft.types import Epoch, NodeId
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.metadata import MetadataRequest
from tests.client.table import (
    CLUSTER_ID,
    PLACES,
    TOPIC,
    TOPIC_ID,
    Response,
    Table,
    leader_alone,
    metadata,
    node,
    session,
)


def response(error: int = 0, *, epoch: int = 3) -> InitProducerIdResponse:
    """A response with an error, and with an epoch in a field that has none."""
    return InitProducerIdResponse(error_code=error, producer_id=epoch, producer_epoch=0)


def ask(
    asking: Session, deadline: Deadline, *, may_wait_ms: int = 0, has_epoch: bool = True, words: str | None = None
) -> Operation[InitProducerIdResponse]:
    def request_to(_leader: LeaderNode) -> Message:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        epoch = Epoch(response.producer_id) if has_epoch else None
        return ResponseStatus(error=response.error_code, message=words, epoch=epoch)

    return asking.ask_leader(request_to, status_of, deadline, may_wait_ms=may_wait_ms)


def test_leader_is_found_and_gets_the_request() -> None:
    table = Table({PLACES[2]: node(knows=metadata(1)), PLACES[1]: node(response())})
    asking = session(2)

    found = table.run(ask(asking, table.deadline()))

    assert found == response()
    assert table.places_asked == [PLACES[2], PLACES[1]]
    assert table.asked[0].request == MetadataRequest(topics=None)
    assert (asking.epoch, asking.cluster_id) == (3, CLUSTER_ID)


def test_request_is_made_for_the_leader() -> None:
    told: list[LeaderNode] = []

    def request_to(leader: LeaderNode) -> Message:
        told.append(leader)
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    table = leader_alone(response())
    table.run(session().ask_leader(request_to, lambda _: ResponseStatus(error=0), table.deadline()))

    assert told == [
        LeaderNode(node_id=NodeId(1), epoch=Epoch(3), endpoint=PLACES[1], topic=Topic(name=TOPIC, topic_id=TOPIC_ID))
    ]


def test_known_leader_gets_the_request_without_a_lookup() -> None:
    table = leader_alone(response())
    asking = session()
    table.run(ask(asking, table.deadline()))

    table.run(ask(asking, table.deadline()))

    assert [type(asked.request) for asked in table.asked] == [
        MetadataRequest,
        InitProducerIdRequest,
        InitProducerIdRequest,
    ]


def test_dead_bootstrap_servers_are_passed_over() -> None:
    table = Table({PLACES[3]: node(response(), knows=metadata(3))})

    table.run(ask(session(1, 2, 3), table.deadline()))

    assert table.places_asked == [PLACES[1], PLACES[2], PLACES[3], PLACES[3]]
    assert table.pauses_ms == [], "the next one is asked at once"


def test_nodes_that_metadata_names_are_asked_when_the_first_one_is_gone() -> None:
    table = Table({PLACES[1]: node(response(), knows=metadata(1))})
    asking = session(1)
    table.run(ask(asking, table.deadline()))
    table.nodes = {PLACES[3]: node(response(epoch=4), knows=metadata(3, epoch=4))}

    found = table.run(ask(asking, table.deadline()))

    assert found == response(epoch=4)
    assert table.places_asked[2:] == [PLACES[1], PLACES[1], PLACES[2], PLACES[3], PLACES[3]]


def test_node_that_knew_the_leader_is_asked_first_next_time() -> None:
    table = Table(
        {PLACES[2]: node(knows=metadata(1)), PLACES[1]: node(response(6), response(), knows="Connection refused")}
    )
    asking = session(3, 2)

    table.run(ask(asking, table.deadline()))

    assert table.places_asked == [PLACES[3], PLACES[2], PLACES[1], PLACES[2], PLACES[1]]


@pytest.mark.parametrize(
    "unknowing",
    [
        pytest.param(metadata(None), id="says so"),
        pytest.param(metadata(1, nodes=(2, 3)), id="does not say where it is"),
        pytest.param(metadata(1, has_partitions=False), id="does not show the partition"),
    ],
)
@pytest.mark.rule("SCENARIO-36")
def test_session_pauses_and_asks_again_when_no_node_knows_the_leader(unknowing: Response) -> None:
    leader = node(response(), knows="Connection refused")
    table = Table({PLACES[1]: node(knows=[unknowing, unknowing, metadata(2)]), PLACES[2]: leader})

    table.run(ask(session(1), table.deadline()))

    assert PLACES[2] in table.places_asked
    assert table.pauses_ms
    assert set(table.pauses_ms) == {50}


def test_session_gives_up_at_its_deadline_and_says_what_each_node_said() -> None:
    table = Table({PLACES[1]: node(knows=metadata(None, nodes=(1,))), PLACES[2]: lambda _: None})
    asking = session(1, 2, 3)

    with pytest.raises(QuorumUnavailableError) as gave_up:
        table.run(ask(asking, table.deadline(2_500)))

    assert str(gave_up.value) == (
        "no leader found within 2500 ms: node1:9091: knows no leader; node2:9092: no response in time; "
        "node3:9093: Connection refused"
    )
    assert table.now_ms == 5_000 + 2_500


def test_error_names_the_last_failure_and_not_the_lack_of_time_for_another_request() -> None:
    table = Table({PLACES[1]: lambda _: "Connection refused"})

    with pytest.raises(QuorumUnavailableError, match=r"within 200 ms: node1:9091: Connection refused$"):
        table.run(ask(session(1), table.deadline(200)))
    assert table.now_ms <= 5_000 + 200
    assert all(asked.timeout_ms > 0 for asked in table.asked)


def test_failure_without_words_is_no_response() -> None:
    table = Table({PLACES[1]: lambda _: ""})

    with pytest.raises(QuorumUnavailableError, match=r"within 100 ms: node1:9091: no response$"):
        table.run(ask(session(1), table.deadline(100)))


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ],
)
@pytest.mark.rule("DESCRIBE-3")
def test_retriable_error_is_retried_after_a_pause(code: ErrorCode) -> None:
    table = leader_alone(response(code), response(code), response())

    found = table.run(ask(session(), table.deadline()))

    assert found == response()
    assert table.pauses_ms == [50, 50]
    kinds = [type(asked.request) for asked in table.asked]
    assert kinds == [MetadataRequest, InitProducerIdRequest] * 3, "the leader is looked up each time"


@pytest.mark.parametrize(
    "code", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_TOPIC_ID, 12345]
)
def test_error_that_stays_ends_the_call(code: int) -> None:
    table = leader_alone(response(code))

    with pytest.raises(RequestError) as refused:
        table.run(ask(session(), table.deadline(), words="in words"))

    assert refused.value.code == code
    assert str(refused.value) == f"{error_name(code)}: in words"
    assert table.pauses_ms == []


def test_request_is_repeated_when_its_response_is_lost() -> None:
    table = leader_alone(None, "Connection reset by peer", response())

    assert table.run(ask(session(), table.deadline())) == response()
    assert table.pauses_ms == [50, 50]


def test_call_without_a_response_names_the_last_failure() -> None:
    table = leader_alone(None)

    with pytest.raises(QuorumUnavailableError) as gave_up:
        table.run(ask(session(), table.deadline(1_500)))

    assert (
        str(gave_up.value)
        == "no response from the leader within 1500 ms; last failure: node1:9091: no response in time"
    )


def test_call_that_is_refused_until_its_deadline_names_the_error() -> None:
    table = leader_alone(response(ErrorCode.NOT_LEADER_OR_FOLLOWER))

    with pytest.raises(QuorumUnavailableError, match=r"(last failure|:) .*(NOT_LEADER_OR_FOLLOWER|node1)"):
        table.run(ask(session(), table.deadline(200)))


@pytest.mark.parametrize(
    ("may_wait_ms", "timeout_ms", "allowed_ms"),
    [
        pytest.param(0, 10_000, 1_000, id="the usual time"),
        pytest.param(400, 10_000, 1_400, id="the maximum wait is added"),
        pytest.param(0, 500, 499, id="never past the deadline"),
    ],
)
def test_one_request_has_its_own_time(may_wait_ms: int, timeout_ms: int, allowed_ms: int) -> None:
    table = leader_alone(response())

    table.run(ask(session(), table.deadline(timeout_ms), may_wait_ms=may_wait_ms))

    assert table.asked[-1].timeout_ms == allowed_ms


@pytest.mark.rule("CLIENT-16")
def test_epoch_of_every_response_is_remembered() -> None:
    table = leader_alone(response(epoch=8))
    asking = session()

    table.run(ask(asking, table.deadline()))

    assert asking.epoch == 8


@pytest.mark.rule("CLIENT-16")
def test_response_of_an_older_epoch_is_dropped() -> None:
    table = leader_alone(response(epoch=2), response(epoch=3))

    assert table.run(ask(session(), table.deadline())) == response(epoch=3)
    assert table.pauses_ms == [50]


def test_response_without_an_epoch_is_accepted() -> None:
    table = leader_alone(response(epoch=0))

    assert table.run(ask(session(epoch=3), table.deadline(), has_epoch=False)) == response(epoch=0)


def test_replaced_leader_is_not_accepted() -> None:
    table = Table(
        {
            PLACES[1]: node(response(epoch=3), knows=metadata(1, epoch=3)),
            PLACES[2]: node(response(epoch=4), knows=metadata(2, epoch=4)),
        }
    )
    asking = session(1, 2, epoch=4)

    found = table.run(ask(asking, table.deadline()))

    assert found == response(epoch=4)
    assert table.places_asked == [PLACES[1], PLACES[2], PLACES[2]], "the old leader is asked for the leader alone"


@pytest.mark.rule("CLIENT-16")
def test_epoch_of_the_metadata_is_remembered_too() -> None:
    table = leader_alone(response(epoch=9), epoch=9)
    asking = session(epoch=4)

    table.run(ask(asking, table.deadline(), has_epoch=False))

    assert asking.epoch == 9


def test_quorum_with_the_expected_cluster_id_is_accepted() -> None:
    table = leader_alone(response())

    assert table.run(ask(session(cluster_id=CLUSTER_ID), table.deadline())) == response()


def test_quorum_with_another_cluster_id_is_refused() -> None:
    table = leader_alone(response())

    with pytest.raises(ConfigError) as refused:
        table.run(ask(session(cluster_id="wanted"), table.deadline()))

    assert str(refused.value) == f"the quorum has cluster id {CLUSTER_ID}, expected wanted (kraft.cluster.id)"


def test_quorum_that_becomes_another_one_is_refused() -> None:
    table = Table({PLACES[1]: node(response(6), knows=[metadata(1), metadata(1, cluster_id="another")])})

    with pytest.raises(ConfigError, match=f"has cluster id another, expected {CLUSTER_ID} .seen before."):
        table.run(ask(session(), table.deadline()))


@pytest.mark.parametrize(
    ("topics", "wanted", "message"),
    [
        ((), None, f"the nodes show this client no topic: {NEEDED_RULE}"),
        (("b", "a"), None, "expected one topic, as a KRaft quorum has; topics: a, b"),
        (("b", "a"), "c", "the quorum does not host topic c; its topics: a, b"),
        ((), "c", f"the nodes show this client no topic: {NEEDED_RULE}"),
    ],
)
def test_quorum_without_the_one_topic_is_refused(topics: tuple[str, ...], wanted: str | None, message: str) -> None:
    table = Table({PLACES[1]: node(response(), knows=metadata(1, topics=topics))})

    with pytest.raises(ConfigError) as refused:
        table.run(ask(session(topic=wanted), table.deadline()))

    assert str(refused.value) == message


def test_configured_topic_is_found_among_several() -> None:
    table = Table({PLACES[1]: node(response(), knows=metadata(1, topics=("other", TOPIC)))})

    assert table.run(ask(session(topic=TOPIC), table.deadline())) == response()


def test_deadline_has_no_time_left_once_it_has_passed() -> None:
    deadline = Deadline(started_ms=100, timeout_ms=50)

    assert [deadline.left_ms(now_ms) for now_ms in (100, 149, 150, 1_000)] == [50, 1, 0, 0]
