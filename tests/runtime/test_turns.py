"""Turns: voters first, then clients by the time that they have had, those that are not known in a part of the time."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from pathlib import Path

import pytest

from raft.runtime.pace import Pace
from raft.runtime.turns import HOLD_S, LONGEST_HOLD_S, ROUND_S, TURN_S, UNKNOWN_CREDIT_S, UNKNOWN_SHARE, Standing, Turns
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.node.harness.guarded_connection import GuardedConnection
from tests.node.harness.keys import Keys

HANDSHAKE_S = 0.001
REQUEST_S = TURN_S / 5


class Loop:
    """An event loop whose time passes only while clients are handled, and while nothing is due.

    Attributes:
        handled: the name of each client whose request was handled, and "|" for each pass of the loop.
        settle_s: time that the core takes when requests have begun.
        held: the name of each client whose request waits for the core.
        settled: those names, for each time that the core has handled requests that waited.
    """

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.handled: list[str] = []
        self.settle_s = 0.0
        self.held: list[str] = []
        self.settled: list[list[str]] = []
        self._is_holding = False
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()
        self.turns = Turns(
            now_s=lambda: self.now_s,
            used_s=lambda: self.now_s,
            call_soon=lambda action: self._call_later(0, action),
            call_later=self._call_later,
            hold=self._hold,
            settle=self._settle,
        )

    def run(self, *, within_s: float = 3600.0, passes: int = 1_000_000) -> None:
        """Do everything that becomes due in time."""
        end_s = self.now_s + within_s
        while self._timers and self._timers[0][0] <= end_s and passes:
            due_s, _, action = heapq.heappop(self._timers)
            self.now_s = max(self.now_s, due_s)
            action()
            self.handled.append("|")
            passes -= 1

    def begin(self, name: str) -> None:
        """Let a request begin, which the core has to handle."""
        self.handled.append(name)
        if self._is_holding:
            self.held.append(name)

    def _hold(self, is_holding: bool) -> None:
        self._is_holding = is_holding

    def _settle(self) -> None:
        self.now_s += self.settle_s
        self.settled.append(self.held)
        self.held = []

    def _call_later(self, after_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (self.now_s + after_s, next(self._numbers), action))


class Client:
    """A connection that has received requests.

    Args:
        loop: of the node.
        name: in `Loop.handled`.
        standing: see `Client.standing`.
        owner: see `Client.owner`; None for one that no other client has.
        request_s: processor time that each request takes.
    """

    def __init__(
        self,
        loop: Loop,
        name: str,
        *,
        standing: Standing = Standing.KNOWN,
        owner: str | None = None,
        request_s: float = REQUEST_S,
    ) -> None:
        self.number = loop.turns.new_number()
        self.standing = standing
        self.owner: Hashable = name if owner is None else owner
        self.requests = 0
        self.is_closing = False
        self._loop = loop
        self._name = name
        self._request_s = request_s
        self.pace: Pace | None = None

    @property
    def has_work(self) -> bool:
        """See `Client.has_work`."""
        return self.requests > 0

    def receive(self, requests: int) -> None:
        """Receive requests in one read."""
        self.requests += requests
        self._loop.turns.ready(self)

    def work(self, is_over: Callable[[], bool]) -> int:
        """See `Client.work`."""
        begun = 0
        while self.requests:
            self.requests -= 1
            begun += 1
            self._loop.now_s += self._request_s
            self._loop.begin(self._name)
            if is_over():
                break
        return begun


def names(handled: Iterable[str]) -> list[str]:
    return [name for name in handled if name != "|"]


def unknown(loop: Loop, name: str, *, owner: str = "10.0.0.1") -> Client:
    return Client(loop, name, standing=Standing.UNKNOWN, owner=owner, request_s=HANDSHAKE_S)


def test_request_is_handled_at_once_when_no_client_waits() -> None:
    loop = Loop()

    Client(loop, "a").receive(1)

    assert loop.handled == ["a"]


@pytest.mark.rule("SHARE-1")
def test_event_loop_goes_on_after_each_round_whatever_a_client_has_sent() -> None:
    loop = Loop()

    Client(loop, "a").receive(1_000)
    loop.run()

    in_a_row = "".join(loop.handled).split("|")
    assert max(map(len, in_a_row)) <= (ROUND_S + 2 * TURN_S) / REQUEST_S
    assert len(names(loop.handled)) == 1_000


@pytest.mark.rule("SHARE-1")
def test_client_waits_for_one_turn_of_each_other_client() -> None:
    loop = Loop()
    crowd = [Client(loop, f"{number}") for number in range(9)]
    for client in crowd:
        client.receive(10_000)
    loop.run(passes=100)
    begun = len(loop.handled)

    Client(loop, "one").receive(1)
    loop.run(passes=100)

    assert loop.handled[begun:].index("one") <= 9 * (TURN_S / REQUEST_S + 2)


@pytest.mark.rule("SHARE-2")
def test_voter_is_served_at_once_while_clients_wait() -> None:
    loop = Loop()
    for number in range(9):
        Client(loop, f"{number}").receive(10_000)
    loop.run(passes=100)
    begun = len(loop.handled)

    Client(loop, "voter", standing=Standing.VOTER).receive(1)

    assert loop.handled[begun:] == ["voter"]


@pytest.mark.rule("SHARE-2")
def test_voter_that_sends_without_a_pause_leaves_time_to_the_others() -> None:
    loop = Loop()
    Client(loop, "voter", standing=Standing.VOTER).receive(100_000)
    Client(loop, "other voter", standing=Standing.VOTER).receive(5)
    Client(loop, "client").receive(5)

    loop.run(passes=20)

    assert {"other voter", "client"} <= set(loop.handled)


@pytest.mark.rule("SHARE-3")
def test_owner_with_many_connections_gets_no_more_time_than_one_with_one() -> None:
    loop = Loop()
    for _ in range(50):
        Client(loop, "many", owner="attacker").receive(10_000)
    Client(loop, "one", owner="honest").receive(10_000)

    loop.run(passes=200)

    handled = names(loop.handled)
    assert handled.count("one") == pytest.approx(len(handled) / 2, rel=0.05)


@pytest.mark.rule("SHARE-9")
def test_requests_of_all_clients_that_wait_reach_the_core_together() -> None:
    loop = Loop()
    for number in range(20):
        Client(loop, f"{number}").receive(1)

    loop.run()

    assert [set(settled) for settled in loop.settled] == [{f"{number}" for number in range(20)}]


@pytest.mark.rule("SHARE-9")
def test_requests_reach_the_core_soon_although_a_client_never_stops() -> None:
    loop = Loop()

    Client(loop, "a").receive(1_000)
    loop.run()

    sizes = [len(settled) for settled in loop.settled]
    assert sum(sizes) == 1_000
    assert HOLD_S / REQUEST_S <= max(sizes) <= (HOLD_S + ROUND_S + 2 * TURN_S) / REQUEST_S


@pytest.mark.rule("SHARE-9")
def test_requests_of_many_clients_reach_the_core_together_until_the_longest_time_is_over() -> None:
    loop = Loop()
    clients = int(2.5 * LONGEST_HOLD_S / REQUEST_S)
    for number in range(clients):
        Client(loop, f"{number}").receive(1)

    loop.run()

    sizes = [len(settled) for settled in loop.settled]
    assert sum(sizes) == clients
    assert len(sizes) == 3
    assert LONGEST_HOLD_S / REQUEST_S <= max(sizes) <= (LONGEST_HOLD_S + ROUND_S + 2 * TURN_S) / REQUEST_S


@pytest.mark.rule("SHARE-9")
def test_request_of_a_single_client_does_not_wait() -> None:
    loop = Loop()

    Client(loop, "a").receive(1)
    loop.run(passes=1)

    assert loop.settled == [["a"]]


@pytest.mark.rule("SHARE-2", "SHARE-9")
def test_requests_of_voters_are_not_held() -> None:
    loop = Loop()
    voter = Client(loop, "voter", standing=Standing.VOTER)
    for number in range(20):
        Client(loop, f"{number}").receive(1_000)

    voter.receive(1)
    loop.run(passes=1)

    assert "voter" in loop.handled
    assert "voter" not in loop.held


@pytest.mark.rule("SHARE-6")
def test_client_whose_requests_cost_the_core_more_has_fewer_of_them() -> None:
    loop = Loop()
    cheap, dear = Client(loop, "cheap"), Client(loop, "dear")
    for client in (cheap, dear):
        client.receive(10_000)
    loop.run(passes=2)

    for _ in range(400):
        loop.turns.charge(dear, 3 * TURN_S)
        loop.run(passes=1)

    handled = names(loop.handled)
    assert handled.count("dear") < handled.count("cheap") / 2


@pytest.mark.rule("SHARE-6")
def test_work_of_the_core_counts_for_the_clients_whose_requests_it_handles() -> None:
    loop = Loop()
    loop.settle_s = 100 * TURN_S
    busy, other = Client(loop, "busy"), Client(loop, "other")
    busy.receive(1_000)
    while not loop.settled:
        loop.run(passes=1)
    loop.settle_s = 0.0
    begun = len(loop.handled)

    other.receive(1_000)
    loop.run(passes=20)

    assert set(names(loop.handled[begun:])) == {"other"}


@pytest.mark.rule("SHARE-6")
def test_response_counts_for_its_client_unless_it_is_part_of_measured_work() -> None:
    loop = Loop()
    one, other = Client(loop, "one"), Client(loop, "other")
    for client in (one, other):
        client.receive(1_000)

    def respond() -> None:
        loop.now_s += 100 * TURN_S

    loop.turns.measure(one, lambda: loop.turns.measure(other, respond))
    begun = len(loop.handled)
    loop.run(passes=20)

    assert set(names(loop.handled[begun:])) == {"other"}


def test_client_that_has_closed_its_connection_takes_no_turn() -> None:
    loop = Loop()
    gone, last = unknown(loop, "gone"), unknown(loop, "last")
    for client in (gone, last):
        client.receive(1)

    loop.turns.forget(gone)
    loop.run()

    assert names(loop.handled) == ["last"]


def test_client_that_can_do_nothing_now_does_not_wait() -> None:
    loop = Loop()

    Client(loop, "a").receive(0)
    loop.run()

    assert loop.handled == []


def test_request_of_a_client_that_is_not_known_is_handled_in_the_next_round() -> None:
    loop = Loop()

    unknown(loop, "a").receive(1)

    assert loop.handled == []
    loop.run(within_s=0)
    assert loop.handled[0] == "a"


@pytest.mark.rule("AUTH-10")
def test_client_that_is_not_known_does_not_wait_for_all_others_of_another_owner() -> None:
    loop = Loop()
    for number in range(100):
        unknown(loop, f"many-{number}").receive(1)

    unknown(loop, "one", owner="10.0.0.2").receive(1)
    loop.run()

    assert names(loop.handled)[:3] == ["many-0", "one", "many-1"]
    assert len(names(loop.handled)) == 101


@pytest.mark.rule("SHARE-5")
def test_clients_that_are_not_known_have_turns_while_the_others_never_stop() -> None:
    loop = Loop()
    for number in range(9):
        Client(loop, f"{number}").receive(1_000_000)
    for number in range(5):
        unknown(loop, f"new-{number}").receive(1)

    loop.run(passes=200)

    assert {f"new-{number}" for number in range(5)} <= set(loop.handled)


@pytest.mark.rule("AUTH-10")
def test_clients_that_are_not_known_take_a_tenth_of_the_time_once_they_have_used_their_credit() -> None:
    loop = Loop()
    loop.now_s += UNKNOWN_CREDIT_S
    for number in range(10_000):
        unknown(loop, f"{number}").receive(1)

    loop.run(within_s=UNKNOWN_CREDIT_S)
    in_the_beginning = len(names(loop.handled))
    loop.run(within_s=10)

    assert in_the_beginning * HANDSHAKE_S == pytest.approx(2 * UNKNOWN_CREDIT_S * UNKNOWN_SHARE, rel=0.1)
    assert (len(names(loop.handled)) - in_the_beginning) * HANDSHAKE_S == pytest.approx(10 * UNKNOWN_SHARE, rel=0.01)


@pytest.mark.rule("SHARE-5")
def test_pause_of_the_clients_that_are_not_known_does_not_delay_the_others() -> None:
    loop = Loop()
    for number in range(2_000):
        unknown(loop, f"{number}").receive(1)
    loop.run(within_s=UNKNOWN_CREDIT_S)
    begun = len(loop.handled)

    first, second = Client(loop, "first"), Client(loop, "second")
    first.receive(100)
    second.receive(1)
    loop.run(within_s=0)

    assert "second" in loop.handled[begun:]


def test_clients_that_come_one_by_one_never_wait() -> None:
    loop = Loop()

    for number in range(1_000):
        loop.now_s += 2 * HANDSHAKE_S / UNKNOWN_SHARE
        unknown(loop, f"{number}").receive(1)
        loop.run(within_s=0)

    assert names(loop.handled) == [f"{number}" for number in range(1_000)]


def test_client_waits_for_its_turns_until_it_is_known(tmp_path: Path) -> None:
    async def play() -> list[int]:
        loop, responses = Loop(), []
        connection = GuardedConnection(Keys(tmp_path), turns=loop.turns)
        connection.send(ApiVersionsRequest(), 3)
        responses.append(len(connection.socket.frames()))
        loop.run()
        responses.append(len(connection.socket.frames()))
        connection.inbound.standing = Standing.KNOWN
        connection.send(ApiVersionsRequest(), 3)
        return [*responses, len(connection.socket.frames())]

    assert asyncio.run(play()) == [0, 1, 2]
