"""What a fetch holds of the memory for responses when its caller disconnects (SHARE-11)."""

from __future__ import annotations

import pytest

from raft.wire.messages.fetch import FetchResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.requests import fetch_request, produce_request
from tests.runtime.guarded_node import GuardedNode

CLIENT = "User:client"


def node_with_room_for_one_read() -> GuardedNode:
    node = GuardedNode(None, response_bytes=1)
    node.ask(node.caller(CLIENT, is_for_clients=True), produce_request(batch_of(b"value"), acks=-1), 9)
    return node


@pytest.mark.rule("SHARE-11")
def test_read_counts_until_it_ends_when_its_client_disconnects() -> None:
    node = node_with_room_for_one_read()
    responses = node.context.responses
    first, second, third = (node.send(CLIENT, fetch_request(0), 12) for _ in range(3))
    node.voter.scheduler.run(until_ms=0, between=lambda: None)  # The core responds, and the disk does nothing.
    taken_bytes = responses.taken_bytes
    assert taken_bytes

    first.disconnect()
    second.disconnect()
    assert (responses.taken_bytes, responses.is_awaited) == (taken_bytes, True), "the first is read, the third waits"
    node.settle()

    assert (first.sent, second.sent) == ([], [])
    (response,) = third.sent
    assert isinstance(response, FetchResponse)
    assert batch_of(b"value")[-5:] in (response.responses[0].partitions[0].records or b"")
    assert not responses.is_awaited


@pytest.mark.rule("SHARE-11")
def test_read_that_finds_too_little_holds_nothing_while_it_waits_for_more() -> None:
    node = node_with_room_for_one_read()
    responses = node.context.responses

    waiting = node.begin(CLIENT, fetch_request(0, min_bytes=10_000, max_wait_ms=1_000), 12)

    assert (waiting.sent, responses.taken_bytes) == ([], 0)
    waiting.disconnect()
    assert (responses.taken_bytes, responses.is_awaited) == (0, False)
