"""Members of a queue get equal parts of the work, whatever the work of one costs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.runtime.fair_queue import FairQueue
from raft.runtime.shares import Shares


def taken(queue: FairQueue[str], *, costs: dict[str, float], turns: int) -> str:
    """Let each member that is taken do work, and wait again; return who was taken."""
    order = ""
    for _ in range(turns):
        member = queue.take()
        order += member
        queue.add(member)
        queue.charge(member, costs[member])
    return order


def waiting(members: str) -> FairQueue[str]:
    queue: FairQueue[str] = FairQueue()
    for member in members:
        queue.add(member)
    return queue


def test_members_take_turns_in_the_order_in_which_they_came() -> None:
    assert taken(waiting("abc"), costs={"a": 1, "b": 1, "c": 1}, turns=7) == "abcabca"


def test_member_with_expensive_work_has_fewer_turns() -> None:
    assert taken(waiting("ab"), costs={"a": 3, "b": 1}, turns=9) == "abbbabbba"


def test_member_that_comes_later_does_not_wait_for_what_the_others_had() -> None:
    queue = waiting("ab")
    taken(queue, costs={"a": 1, "b": 1}, turns=1_000)

    queue.add("c")

    assert "c" in taken(queue, costs={"a": 1, "b": 1, "c": 1}, turns=3)


def test_member_that_was_idle_has_no_credit() -> None:
    queue = waiting("ab")
    taken(queue, costs={"a": 1, "b": 1}, turns=1_000)

    queue.add("c")

    assert taken(queue, costs={"a": 1, "b": 1, "c": 1}, turns=9).count("c") == 3


def test_work_outside_of_turns_counts() -> None:
    queue = waiting("ab")

    queue.charge("a", 3)

    assert taken(queue, costs={"a": 1, "b": 1}, turns=5) == "bbbab"


def test_member_that_waits_no_more_is_not_taken() -> None:
    queue = waiting("abc")

    queue.remove("b")

    assert taken(queue, costs={"a": 1, "c": 1}, turns=4) == "acac"
    queue.remove("a")
    queue.forget("c")
    assert not queue


def test_member_that_comes_again_waits_once() -> None:
    queue = waiting("aab")
    queue.remove("a")
    queue.add("a")

    assert [queue.take(), queue.take()] == ["b", "a"]
    assert not queue


def test_queue_does_not_keep_the_times_of_all_members_that_ever_came() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.add(-1)
    for member in range(50_000):
        queue.add(member)
        queue.charge(member, 0.001)
        queue.take()

    assert len(queue._finish_s) <= 2_000


COST = st.floats(min_value=0.001, max_value=1.0)


@given(st.lists(st.tuples(st.sampled_from("abcd"), COST), min_size=1, max_size=200))
def test_no_member_that_waits_gets_less_than_another_by_more_than_two_turns(costs: list[tuple[str, float]]) -> None:
    queue = waiting("abcd")
    had = dict.fromkeys("abcd", 0.0)
    for _, cost in costs:
        member = queue.take()
        queue.add(member)
        queue.charge(member, cost)
        had[member] += cost

        assert max(had.values()) - min(had.values()) <= 2.0


def order_of(shares: Shares[str], owner_of: dict[str, str], turns: int) -> list[str]:
    """Let each client that is taken do work, and wait again."""
    order = []
    for _ in range(turns):
        client = shares.take()
        order.append(client)
        shares.add(client, owner_of[client])
        shares.charge(client, owner_of[client], 1.0)
    return order


@pytest.mark.rule("SHARE-3")
def test_owner_with_many_connections_gets_no_more_than_one_with_one() -> None:
    owner_of = {f"many-{number}": "attacker" for number in range(99)} | {"one": "honest"}
    shares: Shares[str] = Shares(str)
    for client, owner in owner_of.items():
        shares.add(client, owner)

    order = order_of(shares, owner_of, 300)

    assert order.count("one") == 150
    assert max(map(order.count, owner_of.keys() - {"one"})) == 2


@pytest.mark.rule("SHARE-3")
def test_connections_of_one_owner_share_its_time() -> None:
    owner_of = {"a": "same", "b": "same", "c": "same"}
    shares: Shares[str] = Shares(str)
    for client, owner in owner_of.items():
        shares.add(client, owner)

    assert order_of(shares, owner_of, 6) == ["a", "b", "c", "a", "b", "c"]


def test_work_that_nobody_waited_for_counts_for_nobody() -> None:
    owner_of = {"a1": "a", "a2": "a", "b": "b"}
    shares: Shares[str] = Shares(str)
    for client in ("a1", "b"):
        shares.add(client, owner_of[client])
        shares.charge(client, owner_of[client], 100)
    while shares:
        shares.take()
    shares.charge("a1", "a", 100)

    for client, owner in owner_of.items():
        shares.add(client, owner)

    assert order_of(shares, owner_of, 6) == ["a1", "b", "a2", "b", "a1", "b"]


def test_forgotten_client_is_not_taken_and_its_owner_still_has_what_it_had() -> None:
    shares: Shares[str] = Shares(str)
    for client, owner in (("a1", "a"), ("a2", "a"), ("b", "b")):
        shares.add(client, owner)
    shares.charge("a1", "a", 3.0)

    shares.forget("a1", "a")

    owner_of = {"a2": "a", "b": "b"}
    assert order_of(shares, owner_of, 5) == ["b", "b", "b", "a2", "b"]


def test_shares_do_not_keep_owners_whose_clients_are_gone() -> None:
    shares: Shares[int] = Shares(int)
    for number in range(10_000):
        shares.add(number, f"owner {number}")
        shares.charge(number, f"owner {number}", 0.1)
        shares.forget(number, f"owner {number}")

    assert not shares
    assert len(shares._keys) <= 2_000
