"""Clients with a pace: what they get of the time, alone and beside others, however many connections they open."""

from __future__ import annotations

from collections import Counter

import pytest

from raft.runtime.pace import Pace
from tests.runtime.test_turns import REQUEST_S, Client, Loop, names

LIMIT = 0.2
CREDIT_S = 1.0


def paced(loop: Loop, name: str, pace: Pace, *, owner: str = "limited") -> Client:
    client = Client(loop, name, owner=owner)
    client.pace = pace
    return client


@pytest.mark.rule("QUOTA-6")
@pytest.mark.parametrize("connections", [1, 10, 500])
def test_clients_of_one_pace_get_no_more_than_its_limit_however_many_there_are(connections: int) -> None:
    loop = Loop()
    pace = Pace(LIMIT, credit_s=CREDIT_S, now_s=loop.now_s)
    clients = [paced(loop, f"limited-{number}", pace) for number in range(connections)]
    for client in clients:
        client.receive(1_000_000)

    begin_s = loop.now_s
    loop.run(within_s=20)
    elapsed_s = loop.now_s - begin_s

    used_s = len(names(loop.handled)) * REQUEST_S
    assert used_s == pytest.approx(LIMIT * (elapsed_s + CREDIT_S), rel=0.05)
    assert len(Counter(names(loop.handled))) == connections, "all of them in turn"


@pytest.mark.rule("QUOTA-6")
def test_pace_of_some_clients_does_not_delay_the_others() -> None:
    loop = Loop()
    pace = Pace(LIMIT, credit_s=CREDIT_S, now_s=loop.now_s)
    for number in range(100):
        paced(loop, "limited", pace, owner=f"{number}").receive(1_000_000)
    loop.run(within_s=5)
    free = Client(loop, "free")
    begun = len(loop.handled)

    free.receive(100_000)
    loop.run(within_s=1)

    counts = Counter(names(loop.handled[begun:]))
    assert counts["free"] * REQUEST_S == pytest.approx(1 - LIMIT, rel=0.1)


@pytest.mark.rule("QUOTA-6")
def test_connection_that_is_closed_while_it_waits_for_its_pace_does_not_stop_the_others() -> None:
    loop = Loop()
    pace = Pace(LIMIT, credit_s=0.05, now_s=loop.now_s)
    clients = [paced(loop, f"{number}", pace) for number in range(10)]
    for client in clients:
        client.receive(1_000_000)
    loop.run(within_s=0.1)

    for client in clients[:9]:
        client.is_closing, client.requests = True, 0
        loop.turns.forget(client)
    begun = len(loop.handled)
    loop.run(within_s=10)

    assert set(names(loop.handled[begun:])) == {"9"}
    assert len(names(loop.handled[begun:])) * REQUEST_S == pytest.approx(10 * LIMIT, rel=0.05)


def test_client_within_its_pace_is_served_at_once() -> None:
    loop = Loop()
    client = paced(loop, "limited", Pace(LIMIT, credit_s=CREDIT_S, now_s=loop.now_s))

    client.receive(1)

    assert loop.handled == ["limited"]
