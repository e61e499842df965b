"""Produce: what is appended, what is refused, and when the response is sent."""

from __future__ import annotations

import re
import time
from dataclasses import replace

import pytest

from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Uuid
from raft.wire.apis import PRODUCE
from raft.wire.messages.fetch import FetchResponse
from raft.wire.messages.metadata import MetadataRequest, MetadataResponse
from raft.wire.messages.nodes import LeaderIdAndEpoch
from raft.wire.messages.produce import ProduceResponse, ProduceResponsePartition
from tests.node.harness.batches import batch_of, resealed, values_in, with_codec
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair
from tests.node.harness.requests import (
    OTHER_TOPIC_ID,
    TOPIC_ID,
    fetch_request,
    fetched,
    produce_request,
    produced,
)
from tests.node.harness.wire import Wire

NEWEST = PRODUCE.versions.highest
FIRST_BY_ID = 13
FIRST_WITH_MESSAGE = 8
FIRST_WITH_LEADER = 10

GOOD = batch_of(b"good")


def append(wire: Wire, records: bytes | None, version: int = NEWEST) -> ProduceResponsePartition:
    return produced(wire.ask(produce_request(records), version, ProduceResponse))


def log_end(alone: NodesInProcess) -> int:
    return alone.thread.look(lambda: alone.running[1].core.log.end_offset)


@pytest.mark.parametrize("version", [*PRODUCE.versions])
@pytest.mark.parametrize("acks", [-1, 1])
def test_batch_is_appended_and_acknowledged_with_its_offset(alone: NodesInProcess, version: int, acks: int) -> None:
    start = log_end(alone)
    with alone.wire(1) as wire:
        request = produce_request(batch_of(b"a", b"b"), acks=acks)
        first = produced(wire.ask(request, version, ProduceResponse))
        second = produced(wire.ask(request, version, ProduceResponse))

    assert first == ProduceResponsePartition(
        index=0, error_code=0, base_offset=start, log_start_offset=0 if version >= 5 else -1
    )
    assert second == replace(first, base_offset=start + 2)


@pytest.mark.rule("CLIENT-6")
def test_producer_gets_no_response_when_acks_is_0(alone: NodesInProcess) -> None:
    start = log_end(alone)
    with alone.wire(1) as wire:
        silent = produce_request(batch_of(b"quiet"), acks=0)
        wire.send(silent, NEWEST)
        wire.forget_oldest()
        wire.send(replace(silent, topic_data=produce_request(b"rubbish").topic_data), NEWEST)
        wire.forget_oldest()

        loud = append(wire, batch_of(b"loud"))

    assert loud.base_offset == start + 1, "the batch before it is there, the rubbish is not"


def _damaged() -> bytes:
    return GOOD[:-1] + bytes([GOOD[-1] ^ 1])


@pytest.mark.parametrize(
    ("records", "error", "message"),
    [
        pytest.param(_damaged(), ErrorCode.CORRUPT_MESSAGE, "checksum", id="damaged"),
        pytest.param(batch_of(b"x" * 5000), ErrorCode.MESSAGE_TOO_LARGE, "at most 4000", id="too large"),
        pytest.param(with_codec(GOOD, 7), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "codec 7", id="unknown codec"),
        pytest.param(GOOD + GOOD, ErrorCode.INVALID_RECORD, "not exactly one batch", id="two batches"),
        pytest.param(GOOD[:-1], ErrorCode.INVALID_RECORD, "not exactly one batch", id="incomplete"),
        pytest.param(GOOD[:40], ErrorCode.INVALID_RECORD, "not exactly one batch", id="less than a header"),
        pytest.param(b"", ErrorCode.INVALID_RECORD, "not exactly one batch", id="nothing"),
        pytest.param(None, ErrorCode.INVALID_RECORD, "not exactly one batch", id="null"),
        pytest.param(b"\x00" * 100, ErrorCode.INVALID_RECORD, "magic 0", id="of old times"),
        pytest.param(resealed(GOOD, record_count=0), ErrorCode.INVALID_RECORD, "0 records", id="no records"),
        pytest.param(resealed(GOOD, record_count=2), ErrorCode.INVALID_RECORD, "2 records for 1", id="wrong count"),
        pytest.param(resealed(GOOD, attributes=0x20), ErrorCode.INVALID_RECORD, "control", id="control flag"),
        pytest.param(
            resealed(GOOD, attributes=0x10), ErrorCode.INVALID_RECORD, "without a producer", id="transactional"
        ),
    ],
)
@pytest.mark.parametrize("version", [3, NEWEST])
@pytest.mark.rule("CLIENT-6")
def test_bad_batch_is_refused_and_nothing_is_written(
    strict_about_size: NodesInProcess, records: bytes | None, error: ErrorCode, message: str, version: int
) -> None:
    start = log_end(strict_about_size)
    with strict_about_size.wire(1) as wire:
        refused = append(wire, records, version)
        accepted = append(wire, GOOD, version)

    assert (refused.error_code, refused.base_offset) == (error, -1)
    assert message in (refused.error_message or "") or version < FIRST_WITH_MESSAGE
    assert (accepted.error_code, accepted.base_offset) == (ErrorCode.NONE, start)


@pytest.mark.rule("CLIENT-13")
def test_record_from_the_future_is_refused_in_kafkas_words(alone: NodesInProcess) -> None:
    start = log_end(alone)
    hour_ms = 3_600_000
    now_ms = int(time.time() * 1000)
    with alone.wire(1) as wire:
        refused = append(wire, build_batch([Record(value=b"later", timestamp_ms=now_ms + 2 * hour_ms)]))
        accepted = append(wire, build_batch([Record(value=b"soon", timestamp_ms=now_ms + hour_ms // 2)]))

    assert refused.error_code == ErrorCode.INVALID_TIMESTAMP
    assert re.fullmatch(
        rf"Timestamp {now_ms + 2 * hour_ms} of message with offset 0 is out of range\. The timestamp should be within "
        r"\[0, \d{13}\]\. Check the client's clock, or raise log\.message\.timestamp\.after\.max\.ms",
        refused.error_message or "",
    )
    assert (accepted.error_code, accepted.base_offset) == (ErrorCode.NONE, start)


@pytest.mark.parametrize("version", [*PRODUCE.versions])
@pytest.mark.parametrize(
    ("topic", "topic_id", "partition", "is_ours"),
    [
        pytest.param("other", OTHER_TOPIC_ID, 0, False, id="another topic"),
        pytest.param("__cluster_metadata", TOPIC_ID, 1, True, id="another partition"),
    ],
)
@pytest.mark.rule("CLIENT-6")
def test_other_topic_or_partition_is_refused(
    alone: NodesInProcess, version: int, topic: str, topic_id: Uuid, partition: int, is_ours: bool
) -> None:
    request = produce_request(GOOD, topic=topic, topic_id=topic_id, partition=partition)
    with alone.wire(1) as wire:
        refused = produced(wire.ask(request, version, ProduceResponse))

    by_id = version >= FIRST_BY_ID and not is_ours
    assert refused.error_code == (ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert refused.index == partition


@pytest.mark.parametrize("version", [3, NEWEST])
@pytest.mark.rule("CLIENT-6")
def test_batch_in_a_transaction_must_be_transactional(alone: NodesInProcess, version: int) -> None:
    with alone.wire(1) as wire:
        request = produce_request(GOOD, transactional_id="mine")
        refused = produced(wire.ask(request, version, ProduceResponse))

    assert refused.error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.rule("CLIENT-6")
def test_each_of_several_partitions_has_its_own_response(alone: NodesInProcess) -> None:
    request = produce_request(batch_of(b"one"))
    both = replace(request, topic_data=(*request.topic_data, *produce_request(GOOD, partition=1).topic_data))
    with alone.wire(1) as wire:
        response = wire.ask(both, NEWEST, ProduceResponse)

    codes = [partition.error_code for topic in response.responses for partition in topic.partition_responses]
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_request_without_partitions_gets_an_empty_response(alone: NodesInProcess) -> None:
    with alone.wire(1) as wire:
        response = wire.ask(replace(produce_request(None), topic_data=()), NEWEST, ProduceResponse)

    assert response.responses == ()


@pytest.mark.parametrize("version", [*PRODUCE.versions])
@pytest.mark.rule("CLIENT-6")
def test_follower_names_the_leader(following: Pair, version: int) -> None:
    with following.wire() as wire:
        response = wire.ask(produce_request(GOOD), version, ProduceResponse)

    refused = produced(response)
    assert (refused.error_code, refused.base_offset) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    leader = following.nodes.endpoint(2)
    if version >= FIRST_WITH_LEADER:
        assert refused.current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=following.epoch)
        assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [
            (2, leader.host, leader.port)
        ]
    else:
        assert refused.current_leader == LeaderIdAndEpoch()
        assert response.node_endpoints == ()


@pytest.mark.rule("CLIENT-6", "CLIENT-12")
def test_follower_reads_nothing_of_what_is_not_for_it(following: Pair) -> None:
    with following.wire() as wire:
        response = wire.ask(produce_request(b"no batch at all"), PRODUCE.versions.highest, ProduceResponse)

    assert produced(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.rule("HW-6", "CLIENT-6")
def test_batch_is_acknowledged_only_when_it_is_committed(leading: Pair) -> None:
    start = leading.commit()
    with leading.wire() as wire:
        wire.send(produce_request(GOOD), NEWEST)
        leading.wait_for_log_end(start + 1)
        is_silent_before = wire.is_silent(for_s=0.2)
        leading.commit()

        acknowledged = produced(wire.receive(ProduceResponse))

    assert is_silent_before
    assert (acknowledged.error_code, acknowledged.base_offset) == (ErrorCode.NONE, start)


@pytest.mark.parametrize("timeout_ms", [50, 0, -1])
@pytest.mark.rule("CLIENT-6")
def test_batch_that_is_not_committed_in_time_is_not_forgotten(leading: Pair, timeout_ms: int) -> None:
    start = leading.commit()
    with leading.wire() as wire:
        late = produced(wire.ask(produce_request(batch_of(b"late"), timeout_ms=timeout_ms), NEWEST, ProduceResponse))
        leading.commit()
        there = fetched(wire.ask(fetch_request(start), 12, FetchResponse))

    assert (late.error_code, late.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    assert values_in(there.records) == [b"late"]


@pytest.mark.rule("CLIENT-6", "LOG-8")
def test_waiting_appends_get_not_leader_when_the_leader_is_replaced(leading: Pair) -> None:
    start = leading.commit()
    with leading.wire() as wire:
        wire.send(produce_request(GOOD), NEWEST)
        leading.wait_for_log_end(start + 1)
        leading.announce_itself(epoch=leading.epoch + 1)

        response = wire.receive(ProduceResponse)

    assert produced(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produced(response).current_leader == LeaderIdAndEpoch(leader_id=2, leader_epoch=leading.epoch)
    assert [node.node_id for node in response.node_endpoints] == [2]


def test_pipelined_requests_get_responses_in_order(leading: Pair) -> None:
    start = leading.commit()
    with leading.wire() as wire:
        for at in range(20):
            wire.send(produce_request(batch_of(b"%d" % at)), NEWEST)
            wire.send(MetadataRequest(topics=None), 9)
        leading.wait_for_log_end(start + 20)
        is_silent_before = wire.is_silent(for_s=0.1)
        leading.commit()

        offsets = []
        for _ in range(20):
            offsets.append(produced(wire.receive(ProduceResponse)).base_offset)
            wire.receive(MetadataResponse)

    assert is_silent_before, "Metadata must not overtake Produce"
    assert offsets == [*range(start, start + 20)]


@pytest.mark.rule("LOG-4")
def test_strict_leader_refuses_what_a_java_follower_would_not_survive(strict_about_records: NodesInProcess) -> None:
    with strict_about_records.wire(1) as wire:
        plain = append(wire, batch_of(b"plain"))
        keyed = append(wire, build_batch([Record(key=b"k", value=b"v", timestamp_ms=1)]))
        empty = append(wire, build_batch([Record(value=b"", timestamp_ms=1)]))

    assert (plain.error_code, keyed.error_code, empty.error_code) == (0, ErrorCode.INVALID_RECORD, 87)
    assert "raft.records.strict" in (keyed.error_message or "")
