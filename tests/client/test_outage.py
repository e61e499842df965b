"""What a client says while no leader responds, and when it does not wait for one."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from raft.client.discovery import LeaderNode
from raft.client.failures import CLOSED_AFTER_HANDSHAKE, TIMED_OUT
from raft.client.outage import Outage
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Operation
from raft.codec import Message
from raft.errors import ErrorCode, QuorumUnavailableError, QuorumUnreachableError
from raft.types import Endpoint
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.client.table import PLACES, Late, Refused, Table, metadata, node

DONE = InitProducerIdResponse(error_code=0, producer_id=3, producer_epoch=0)
NOT_LEADER = InitProducerIdResponse(error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, producer_id=3, producer_epoch=0)


def asking(session: Session, deadline: Deadline) -> Operation[InitProducerIdResponse]:
    def request_to(_leader: LeaderNode) -> Message:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code)

    return session.ask_leader(request_to, status_of, deadline)


class Warned:
    """A session of two nodes, and the warnings that it has reported, with their times."""

    def __init__(self, table: Table, *, connect_timeout_ms: int | None = 10_000) -> None:
        self.table = table
        self.began_ms = table.now_ms
        self.warnings: list[tuple[int, str]] = []
        settings = ClientSettings(
            bootstrap_servers=(PLACES[1], PLACES[2]),
            request_timeout_ms=1_000,
            connect_timeout_ms=connect_timeout_ms,
        )
        self.session = Session(settings, report=self._report)

    def ask(self, timeout_ms: int = 60_000) -> InitProducerIdResponse:
        return self.table.run(asking(self.session, self.table.deadline(timeout_ms)))

    def _report(self, warning: str) -> None:
        self.warnings.append((self.table.now_ms - self.began_ms, warning))


def refusing() -> Table:
    """Nodes at whose addresses connections are refused."""
    return Table({PLACES[each]: lambda _request: Refused("Connection refused") for each in (1, 2)})


def test_client_warns_in_the_first_seconds_and_then_every_ten() -> None:
    warned = Warned(Table({PLACES[1]: node(knows=metadata(None))}))

    with pytest.raises(QuorumUnavailableError):
        warned.ask(timeout_ms=30_000)

    times = [at_ms for at_ms, _ in warned.warnings]
    assert len(times) == 3
    assert 4_000 <= times[0] <= 5_000
    assert all(10_000 <= later - earlier <= 12_000 for earlier, later in pairwise(times))
    assert warned.warnings[0][1].startswith("no leader of the quorum has responded for 4.")
    assert (
        "kraft.default.api.timeout.ms=30000): node1:9091: knows no leader; node2:9092: Connection refused"
        in (warned.warnings[0][1])
    )


def test_client_warns_while_a_leader_holds_its_request() -> None:
    patient = Warned(Table({PLACES[1]: node(Late(DONE, 9_000))}))
    settings = ClientSettings(bootstrap_servers=(PLACES[1],), request_timeout_ms=20_000)
    patient.session = Session(settings, report=patient._report)

    assert patient.ask() == DONE

    (first, last) = patient.warnings
    assert first[0] < 5_000
    assert first[1].endswith(
        ": node2:9092: Connection refused; node1:9091: no response yet; node3:9093: Connection refused"
    )
    assert last[1].startswith("a leader of the quorum has responded after 9.")


@pytest.mark.parametrize(
    ("connect_timeout_ms", "expected"),
    [
        pytest.param(
            10_000, r"at most [56]\.\d s more \(kraft\.socket\.connection\.setup\.timeout\.ms=10000\)", id="ten"
        ),
        pytest.param(
            90_000, r"at most 56 s more \(kraft\.default\.api\.timeout\.ms=60000\)", id="longer than the call"
        ),
        pytest.param(None, r"at most 56 s more \(kraft\.default\.api\.timeout\.ms=60000\)", id="none"),
    ],
)
def test_warning_of_a_first_connection_has_the_time_that_is_left_for_it(
    connect_timeout_ms: int | None, expected: str
) -> None:
    warned = Warned(refusing(), connect_timeout_ms=connect_timeout_ms)

    with pytest.raises(QuorumUnavailableError):
        warned.ask()

    assert re.match(
        rf"no leader of the quorum has responded for 4\.\d s; waiting for {expected}: ", warned.warnings[0][1]
    )


def test_warning_of_a_client_that_has_reached_the_quorum_has_the_time_of_the_call() -> None:
    warned = Warned(Table({PLACES[1]: node(DONE)}))
    warned.ask()
    warned.table.nodes = refusing().nodes

    with pytest.raises(QuorumUnavailableError):
        warned.ask()

    assert "more (kraft.default.api.timeout.ms=60000): " in warned.warnings[0][1]


def full(session: Session, deadline: Deadline) -> Operation[InitProducerIdResponse]:
    """A request to a leader that has no room for it."""

    def request_to(_leader: LeaderNode) -> Message:
        return InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)

    def status_of(response: InitProducerIdResponse) -> ResponseStatus:
        return ResponseStatus(error=response.error_code, message="its disk is full" if response.error_code else None)

    return session.ask_leader(request_to, status_of, deadline)


NO_ROOM = InitProducerIdResponse(error_code=ErrorCode.STORAGE_ERROR, producer_id=3, producer_epoch=0)


def test_leader_that_refuses_a_request_for_now_is_named_with_its_reason() -> None:
    warned = Warned(Table({PLACES[1]: node(NO_ROOM)}))

    with pytest.raises(QuorumUnavailableError) as failure:
        warned.table.run(full(warned.session, warned.table.deadline(30_000)))

    reason = "node1:9091: STORAGE_ERROR: its disk is full"
    assert str(failure.value) == f"the leader refused the request for 30000 ms: {reason}"
    assert re.fullmatch(
        r"the leader of the quorum has refused the request for 4\.\d s; waiting for at most 26 s more "
        rf"\(kraft\.default\.api\.timeout\.ms=30000\): {reason}",
        warned.warnings[0][1],
    )


def test_leader_that_takes_the_request_at_last_is_reported() -> None:
    warned = Warned(Table({PLACES[1]: node(*[NO_ROOM] * 90, DONE)}))

    assert warned.table.run(full(warned.session, warned.table.deadline(30_000))) == DONE

    assert warned.warnings[-1][1].startswith("the leader takes the request after ")


def test_reason_of_a_leader_that_is_gone_is_not_the_one_of_the_outage() -> None:
    warned = Warned(Table({PLACES[1]: node(NO_ROOM, "the node closed the connection")}))

    with pytest.raises(QuorumUnavailableError) as failure:
        warned.table.run(full(warned.session, warned.table.deadline(30_000)))

    assert warned.warnings[0][1].startswith("no leader of the quorum has responded for 4.")
    assert "refused" not in str(failure.value)


def test_client_says_nothing_about_an_election() -> None:
    known = [metadata(None)] * 20 + [metadata(1)]
    warned = Warned(Table({PLACES[1]: node(NOT_LEADER, DONE, knows=[metadata(1), *known])}))

    assert warned.ask() == DONE

    assert warned.table.now_ms - warned.began_ms > 1_000
    assert warned.warnings == []


def test_each_call_begins_anew() -> None:
    warned = Warned(Table({PLACES[1]: node(DONE, knows=metadata(None))}))
    with pytest.raises(QuorumUnavailableError):
        warned.ask(timeout_ms=6_000)
    warned.table.nodes = {PLACES[1]: node(DONE)}

    assert warned.ask() == DONE

    assert len(warned.warnings) == 1, "the second call has not waited"


def test_call_fails_in_seconds_when_no_node_was_ever_connected_to() -> None:
    warned = Warned(refusing())

    with pytest.raises(QuorumUnreachableError) as refusal:
        warned.ask()

    assert 10_000 <= warned.table.now_ms - warned.began_ms < 11_000
    assert str(refusal.value) == (
        "no node of the quorum could be connected to in 10 s: "
        "node1:9091: Connection refused; node2:9092: Connection refused"
    )


def test_call_fails_in_seconds_when_the_leader_cannot_be_connected_to() -> None:
    warned = Warned(Table({PLACES[1]: node(knows=metadata(2)), PLACES[2]: lambda _request: Refused("Host is down")}))

    with pytest.raises(QuorumUnreachableError, match=r"in 10 s: node2:9092: Host is down$"):
        warned.ask()


def test_call_with_less_time_ends_with_the_same_error() -> None:
    with pytest.raises(QuorumUnreachableError, match=r"in 0\.7 s: node1:9091: Connection refused; "):
        Warned(refusing()).ask(timeout_ms=700)


@pytest.mark.parametrize(
    ("silent_after_ms", "first_answer"),
    [
        pytest.param(950, CLOSED_AFTER_HANDSHAKE, id="for the last request, which the end of the call cuts short"),
        pytest.param(300, TIMED_OUT, id="for a whole request"),
    ],
)
def test_error_says_why_a_node_did_not_respond_unless_it_was_silent(silent_after_ms: int, first_answer: str) -> None:
    table = Table({})
    deadline = table.deadline(1_000)

    def closes(_request: Message) -> str | None:
        return CLOSED_AFTER_HANDSHAKE if table.now_ms < deadline.started_ms + silent_after_ms else None

    table.nodes = {PLACES[1]: closes, PLACES[2]: closes}

    with pytest.raises(QuorumUnavailableError) as failure:
        Warned(table).ask(deadline.timeout_ms)

    assert table.now_ms == deadline.started_ms + deadline.timeout_ms, "the last request was cut short"
    answers = f"node1:9091: {first_answer}; node2:9092: {CLOSED_AFTER_HANDSHAKE}"
    assert str(failure.value) == f"no leader found within 1000 ms: {answers}"


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(Table({PLACES[1]: lambda _request: None}), id="one node is suspended"),
        pytest.param(Table({PLACES[1]: node(knows=metadata(None))}), id="one node knows no leader"),
    ],
)
def test_call_goes_on_when_a_node_can_be_connected_to(table: Table) -> None:
    table.nodes[PLACES[2]] = lambda _request: Refused("Connection refused")
    warned = Warned(table)

    with pytest.raises(QuorumUnavailableError, match="no leader found within 60000 ms") as refusal:
        warned.ask()

    assert not isinstance(refusal.value, QuorumUnreachableError)


def test_call_goes_on_when_a_leader_has_responded_before() -> None:
    warned = Warned(Table({PLACES[1]: node(DONE)}))
    warned.ask()
    warned.table.nodes = refusing().nodes
    began_ms = warned.table.now_ms

    with pytest.raises(QuorumUnavailableError, match="no leader found within 60000 ms"):
        warned.ask()

    assert warned.table.now_ms - began_ms > 59_000


def test_call_goes_on_without_a_limit() -> None:
    with pytest.raises(QuorumUnavailableError, match="no leader found within 60000 ms"):
        Warned(refusing(), connect_timeout_ms=None).ask()


def test_without_an_answer_nothing_is_unreachable() -> None:
    outage = Outage(ClientSettings(bootstrap_servers=(Endpoint("node1", 9091),), connect_timeout_ms=1), print)
    outage.begin(0, 3_000)

    outage.check(3_000)
