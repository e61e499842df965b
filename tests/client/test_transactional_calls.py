"""The calls of a multipart write: append a part, commit, abort."""

from __future__ import annotations

import pytest

from raft.client import Appended, Fetched, calls
from raft.client.results import AbortedTransaction
from raft.errors import ErrorCode, QuorumUnavailableError, RequestError
from raft.types import Offset
from raft.wire.messages import fetch, produce
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.transactions import EndTxnRequest, EndTxnResponse
from raft.writers import WriteKey
from tests.client.table import PLACES, TOPIC, TOPIC_ID, Table, leader_alone, metadata, node, session

WRITE = WriteKey("a query", 3).write_id
BATCH = b"the bytes of a batch"
DONE = EndTxnResponse(error_code=0)


def produced(error: int = 0) -> produce.ProduceResponse:
    partition = produce.ProduceResponsePartition(index=0, error_code=error, base_offset=7)
    return produce.ProduceResponse(responses=(produce.ProduceResponseTopic(partition_responses=(partition,)),))


@pytest.mark.rule("TXN-6")
def test_part_is_appended_under_the_transactional_id_of_its_write() -> None:
    table = leader_alone(produced())

    appended = table.run(calls.append(session(), table.deadline(), BATCH, transactional_id=WRITE.transactional_id))

    assert appended == Appended(base_offset=Offset(7))
    partition = produce.ProduceRequestPartition(index=0, records=BATCH)
    topic = produce.ProduceRequestTopic(name=TOPIC, topic_id=TOPIC_ID, partition_data=(partition,))
    assert table.asked[-1].request == produce.ProduceRequest(
        transactional_id=WRITE.transactional_id, acks=-1, timeout_ms=1_000, topic_data=(topic,)
    )


@pytest.mark.rule("TXN-4")
def test_abort_asks_the_leader_to_end_all_parts_of_the_write() -> None:
    table = leader_alone(DONE)

    table.run(calls.abort_write(session(), table.deadline(), WRITE))

    assert table.asked[-1].request == EndTxnRequest(
        transactional_id=WRITE.transactional_id,
        producer_id=WRITE.producer_id,
        producer_epoch=0,
        committed=False,
    )


@pytest.mark.rule("TXN-4")
@pytest.mark.parametrize(
    "first",
    [
        pytest.param(None, id="no response in time"),
        pytest.param(EndTxnResponse(error_code=ErrorCode.NOT_COORDINATOR), id="not committed in time"),
        pytest.param("Connection reset", id="lost connection"),
    ],
)
def test_abort_is_asked_again_until_the_leader_says_it_is_committed(first: EndTxnResponse | str | None) -> None:
    table = leader_alone(first, DONE)

    table.run(calls.abort_write(session(), table.deadline(), WRITE))

    asked = [ask.request for ask in table.asked if isinstance(ask.request, EndTxnRequest)]
    assert len(asked) == 2
    assert asked[0] == asked[1]


@pytest.mark.rule("TXN-4")
def test_abort_goes_to_the_new_leader_when_the_old_one_refuses_it() -> None:
    refusal = EndTxnResponse(error_code=ErrorCode.NOT_COORDINATOR)
    table = Table(
        {
            PLACES[1]: node(refusal, knows=[metadata(1, epoch=3), metadata(2, epoch=4)]),
            PLACES[2]: node(DONE, knows=metadata(2, epoch=4)),
        }
    )

    table.run(calls.abort_write(session(), table.deadline(), WRITE))

    asked = [ask.endpoint for ask in table.asked if isinstance(ask.request, EndTxnRequest)]
    assert asked == [PLACES[1], PLACES[2]]


@pytest.mark.parametrize("code", [ErrorCode.INVALID_TXN_STATE, ErrorCode.CLUSTER_AUTHORIZATION_FAILED])
def test_abort_that_is_refused_for_good_fails(code: ErrorCode) -> None:
    table = leader_alone(EndTxnResponse(error_code=code))

    with pytest.raises(RequestError) as refused:
        table.run(calls.abort_write(session(), table.deadline(), WRITE))

    assert refused.value.code == code


def test_abort_fails_when_there_is_no_response_before_the_deadline() -> None:
    table = leader_alone(None)

    with pytest.raises(QuorumUnavailableError):
        table.run(calls.abort_write(session(), table.deadline(3_000), WRITE))


@pytest.mark.rule("TXN-10")
def test_fetch_returns_the_aborted_transactions_that_the_response_names() -> None:
    partition = fetch.FetchResponsePartition(
        partition_index=0,
        error_code=0,
        high_watermark=12,
        last_stable_offset=9,
        log_start_offset=2,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=3),
        aborted_transactions=(
            fetch.AbortedTransaction(producer_id=8, first_offset=4),
            fetch.AbortedTransaction(producer_id=7, first_offset=3),
        ),
        records=b"r",
    )
    table = leader_alone(fetch.FetchResponse(responses=(fetch.FetchResponseTopic(partitions=(partition,)),)))

    got = table.run(calls.fetch_committed(session(), table.deadline(), Offset(3), max_bytes=100, max_wait_ms=0))

    assert got == Fetched(
        records=b"r",
        last_stable_offset=Offset(9),
        log_start_offset=Offset(2),
        aborted=(AbortedTransaction(8, Offset(4)), AbortedTransaction(7, Offset(3))),
    )
