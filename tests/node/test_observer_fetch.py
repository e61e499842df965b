"""Fetches of observers: their responses count like those of clients, and those of voters do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from raft.errors import ErrorCode
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of, batches_in
from tests.node.harness.pair import OTHER, US, Pair, leading_pair
from tests.node.harness.requests import fetch_request, fetched, produce_request
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire

BATCHES = 12
BATCH_BYTES = 1 << 20
RESPONSE_BYTES = 8 << 20
"""More than the kernel and a node buffer of a response that is not read."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A leader with `BATCHES` committed batches, whose budget holds one response."""
    with _filled_pair(tmp_path_factory.mktemp("filled")) as pair:
        yield pair


@contextmanager
def _filled_pair(directory: Path) -> Iterator[Pair]:
    limit = str(RESPONSE_BYTES)
    with leading_pair(
        directory, queued__max__request__bytes=limit, controller__quorum__fetch__max__bytes=limit
    ) as pair:
        start = pair.commit()
        with pair.wire() as wire:
            for number in range(BATCHES):
                wire.send(produce_request(batch_of(bytes(BATCH_BYTES)), timeout_ms=60_000), 9)
                pair.wait_for_log_end(start + number + 1)
                pair.commit()
                wire.receive(ProduceResponse)
        yield pair


def fetch_of(replica_id: int, pair: Pair, *, max_bytes: int = RESPONSE_BYTES) -> FetchRequest:
    request = fetch_request(
        pair.log_end - BATCHES, epoch=pair.epoch, last_fetched_epoch=pair.epoch, max_bytes=max_bytes
    )
    return replace(request, replica_id=replica_id)


@contextmanager
def unread_response(pair: Pair) -> Iterator[None]:
    """An observer gets a response, and does not read it meanwhile."""
    endpoint = pair.nodes.endpoint(US)
    with Wire(endpoint, receive_buffer_bytes=4096) as deaf:
        deaf.send(fetch_of(8, pair), 12)
        deaf.first_bytes()
        yield


def budgeted_bytes(pair: Pair) -> int:
    """How many bytes of responses the node counts."""
    return pair.nodes.thread.look(lambda: pair.nodes.running[US].parts.replica.context.responses._taken_bytes)


@pytest.mark.parametrize(
    ("max_bytes", "batches"),
    [
        pytest.param(RESPONSE_BYTES, RESPONSE_BYTES // BATCH_BYTES - 1, id="of all that fits"),
        pytest.param(1, 1, id="of a batch that is larger than it allows"),
    ],
)
def test_observers_fetch_waits_while_another_observer_does_not_read(filled: Pair, max_bytes: int, batches: int) -> None:
    with filled.wire() as wire:
        with unread_response(filled):
            wire.send(fetch_of(9, filled, max_bytes=max_bytes), 12)
            is_silent_before = wire.is_silent(for_s=0.2)
        records = fetched(wire.receive(FetchResponse)).records

    assert is_silent_before
    assert len(batches_in(records)) == batches
    eventually(lambda: budgeted_bytes(filled) == 0, "the responses are released")


def test_voters_fetch_does_not_wait_for_memory(filled: Pair) -> None:
    with unread_response(filled), filled.wire() as wire:
        before = budgeted_bytes(filled)
        response = fetched(wire.ask(fetch_of(OTHER, filled), 12, FetchResponse))

        assert len(batches_in(response.records)) == RESPONSE_BYTES // BATCH_BYTES - 1
        assert budgeted_bytes(filled) == before > BATCH_BYTES


def test_observer_that_leaves_gives_its_place_in_the_queue_back(filled: Pair) -> None:
    responses = filled.nodes.running[US].parts.replica.context.responses
    with unread_response(filled):
        with filled.wire() as leaving:
            leaving.send(fetch_of(9, filled), 12)
            eventually(lambda: responses.is_awaited, "its read waits")
        eventually(lambda: not responses.is_awaited, "its read is dropped")

    eventually(lambda: budgeted_bytes(filled) == 0, "the responses are released")


def test_observer_that_waited_gets_no_records_when_the_leader_was_replaced(tmp_path: Path) -> None:
    with _filled_pair(tmp_path) as pair, pair.wire() as wire:
        responses = pair.nodes.running[US].parts.replica.context.responses
        with unread_response(pair):
            wire.send(fetch_of(9, pair), 12)
            eventually(lambda: responses.is_awaited, "its read waits")
            pair.announce_itself(epoch=pair.epoch + 1)
        response = fetched(wire.receive(FetchResponse))

        assert (response.error_code, response.records) == (ErrorCode.FENCED_LEADER_EPOCH, b"")
        eventually(lambda: budgeted_bytes(pair) == 0, "the responses are released")
