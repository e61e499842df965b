"""WriteTxnMarkers ends one transaction after the other, so that a long request does not delay appends (TXN-9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest

from raft.codec import Message
from raft.core.effects import SendResponse
from raft.core.events import TransactionEndRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.runtime.request import Request
from raft.runtime.requests.context import Context
from raft.runtime.requests.transactions import write_txn_markers
from raft.types import Epoch, LeaderAndEpoch, NodeId
from raft.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

TOPIC = "log"


@dataclass(eq=False)
class Requests:
    """An engine, and the caller of one request."""

    waiting: dict[int, Callable[[SendResponse], None]] = field(default_factory=dict)
    submitted: list[TransactionEndRequested] = field(default_factory=list)
    abandoned: list[int] = field(default_factory=list)
    responses: list[Message | None] = field(default_factory=list)
    gone: Callable[[], None] | None = None
    message: WriteTxnMarkersRequest = field(default_factory=lambda: WriteTxnMarkersRequest(markers=()))

    def expect_response(self, on_response: Callable[[SendResponse], None]) -> int:
        request_id = len(self.submitted)
        self.waiting[request_id] = on_response
        return request_id

    def submit(self, event: TransactionEndRequested) -> None:
        self.submitted.append(event)

    def abandon(self, request_id: int) -> None:
        del self.waiting[request_id]
        self.abandoned.append(request_id)

    def when_gone(self, forget: Callable[[], None]) -> None:
        self.gone = forget

    def respond(self, response: Message | None) -> None:
        self.responses.append(response)

    def finish(self, error: ErrorCode) -> None:
        """Respond to the newest event as the core does."""
        event = self.submitted[-1]
        response = AppendResponse(error=error, leader=LeaderAndEpoch(epoch=Epoch(5), leader_id=NodeId(1)))
        self.waiting.pop(event.request_id)(SendResponse(request_id=event.request_id, response=response))


def begun(producer_ids: list[int]) -> Requests:
    """Return a request to abort the transactions of these producers, which was begun."""
    requests = Requests()
    context = SimpleNamespace(engine=requests, is_ours_by_name=lambda topic, _partition: topic == TOPIC)
    markers = tuple(
        WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=0,
            transaction_result=False,
            topics=(WritableTxnMarkerTopic(name=TOPIC, partition_indexes=(0,)),),
            coordinator_epoch=0,
        )
        for producer_id in producer_ids
    )
    requests.message = WriteTxnMarkersRequest(markers=markers)
    write_txn_markers(cast("Context", context), cast("Request[WriteTxnMarkersRequest]", requests))
    return requests


@pytest.mark.rule("TXN-9")
def test_each_transaction_is_ended_after_the_one_before() -> None:
    requests = begun([7, 8, 9])
    outcomes = [ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.INVALID_TXN_STATE]

    seen = []
    for outcome in outcomes:
        seen.append((len(requests.submitted), len(requests.responses)))
        requests.finish(outcome)

    assert seen == [(1, 0), (2, 0), (3, 0)]
    assert [event.producer_id for event in requests.submitted] == [7, 8, 9]
    (response,) = requests.responses
    assert isinstance(response, WriteTxnMarkersResponse)
    assert [(marker.producer_id, marker.topics[0].partitions[0].error_code) for marker in response.markers] == [
        *zip((7, 8, 9), outcomes, strict=True)
    ]


@pytest.mark.rule("TXN-9")
def test_transactions_that_wait_stay_when_the_caller_is_gone() -> None:
    requests = begun([7, 8, 9])
    requests.finish(ErrorCode.NONE)

    assert requests.gone is not None
    requests.gone()

    assert requests.abandoned == [1]
    assert not requests.waiting
    assert [event.producer_id for event in requests.submitted] == [7, 8]


def test_request_without_markers_gets_a_response() -> None:
    assert begun([]).responses == [WriteTxnMarkersResponse(markers=())]
