"""What clients have used of their quotas: who shares a limit, what changes with the file, and what is kept."""

from __future__ import annotations

import pytest

from raft.runtime import client_quotas
from raft.runtime.client_quotas import LONGEST_THROTTLES_S, OTHERS, ClientQuotas, Throttled
from raft.security.quotas import QuotaKind, Quotas

PRODUCER, REQUEST = QuotaKind.PRODUCER_BYTE_RATE, QuotaKind.REQUEST_PERCENTAGE


class Node:
    """The quotas of a node, whose clock and file the test sets."""

    def __init__(self, text: str) -> None:
        self.quotas = Quotas.parse(text)
        self.now_s = 0.0
        self.clients = ClientQuotas(lambda: self.quotas, lambda: self.now_s)

    def throttle_s(self, kind: QuotaKind, user: str, client_id: str, used: float) -> float | None:
        """Use something; return for how long the client is throttled; None if it has no quota."""
        pace = self.clients.pace(kind, user, client_id)
        if pace is None:
            return None
        self.clients.use(pace, used)
        return self.clients.throttle_s(pace)


@pytest.mark.rule("QUOTA-1", "QUOTA-2")
def test_clients_of_a_user_share_its_quota_and_other_users_have_their_own() -> None:
    node = Node('[[quota]]\nuser = "<default>"\nproducer_byte_rate = 100')

    assert node.throttle_s(PRODUCER, "u", "one", 800) == 0
    assert node.throttle_s(PRODUCER, "u", "two", 300) == 1
    assert node.throttle_s(PRODUCER, "other", "one", 1_000) == 0
    assert node.throttle_s(REQUEST, "u", "one", 1_000) is None


@pytest.mark.rule("QUOTA-2")
def test_throttle_for_processor_time_is_a_second_at_most() -> None:
    node = Node('[[quota]]\nuser = "u"\nrequest_percentage = 10')

    assert node.throttle_s(REQUEST, "u", "", 1.0) == 0, "a tenth of ten seconds"
    assert node.throttle_s(REQUEST, "u", "", 0.05) == 0.5
    assert node.throttle_s(REQUEST, "u", "", 9.0) == LONGEST_THROTTLES_S[REQUEST]


@pytest.mark.rule("QUOTA-5")
def test_changed_quota_holds_at_once_and_what_was_used_still_counts() -> None:
    node = Node('[[quota]]\nuser = "u"\nproducer_byte_rate = 100')
    node.throttle_s(PRODUCER, "u", "", 1_000)

    node.quotas = Quotas.parse('[[quota]]\nuser = "u"\nproducer_byte_rate = 50')
    halved = node.throttle_s(PRODUCER, "u", "", 100)
    node.quotas = Quotas.parse("")

    assert halved == 2
    assert node.throttle_s(PRODUCER, "u", "", 1_000) is None


@pytest.mark.rule("QUOTA-3")
def test_throttled_clients_are_counted_and_the_later_ones_of_many_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_quotas, "_LISTED_ENTITIES", 2)
    node = Node('[[quota]]\nclient-id = "<default>"\nproducer_byte_rate = 1')

    for client_id, throttle_s in [("a", 1.0), ("b", 2.0), ("a", 3.0), ("c", 4.0), ("d", 5.0)]:
        pace = node.clients.pace(PRODUCER, "u", client_id)
        assert pace is not None
        node.clients.count(PRODUCER, pace, throttle_s)

    assert node.clients.throttled == {
        (PRODUCER, (None, "a")): Throttled(count=2, seconds=4.0),
        (PRODUCER, (None, "b")): Throttled(count=1, seconds=2.0),
        (PRODUCER, OTHERS): Throttled(count=2, seconds=9.0),
    }


@pytest.mark.rule("QUOTA-3")
def test_memory_does_not_grow_with_client_ids_that_were_invented(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_quotas, "_KEPT_PACES", 100)
    node = Node(
        '[[quota]]\nclient-id = "<default>"\nproducer_byte_rate = 1\n[[quota]]\nuser = "slow"\nproducer_byte_rate = 1'
    )
    node.throttle_s(PRODUCER, "slow", "", 1_000_000)

    for number in range(5_000):
        node.now_s += 1
        node.throttle_s(PRODUCER, "u", f"{number}", 1)

    assert len(node.clients._paces) <= 200
    assert len(node.clients._pace_of) <= 200
    assert node.throttle_s(PRODUCER, "slow", "", 1) == 1_000_001 - 10 - 5_000, "what has an effect is kept"
