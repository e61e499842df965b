"""Repeated appends: idempotent producers, and the keys of keyed writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.client import WriteKey
from raft.errors import ErrorCode
from raft.wire.apis import INIT_PRODUCER_ID
from raft.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from raft.wire.messages.produce import ProduceRequest, ProduceResponse, ProduceResponsePartition
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import Pair
from tests.node.harness.properties import voters_properties
from tests.node.harness.requests import produce_request, produced
from tests.node.harness.wire import Wire

VERSION = 9


def append(
    wire: Wire, producer_id: int, sequence: int, *, epoch: int = 0, records: int = 2
) -> ProduceResponsePartition:
    batch = batch_of(*[b"v"] * records, producer_id=producer_id, sequence=sequence, epoch=epoch)
    return produced(wire.ask(produce_request(batch), VERSION, ProduceResponse))


@pytest.mark.parametrize("version", [*INIT_PRODUCER_ID.versions])
@pytest.mark.parametrize("node_id", [1, 2, 3])
@pytest.mark.rule("CLIENT-7")
def test_every_node_hands_out_producer_ids(three: NodesInProcess, version: int, node_id: int) -> None:
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=-1)
    with three.wire(node_id) as wire:
        responses = [wire.ask(request, version, InitProducerIdResponse) for _ in range(3)]

    assert all((response.error_code, response.producer_epoch) == (ErrorCode.NONE, 0) for response in responses)
    ids = [response.producer_id for response in responses]
    assert all(0 <= producer_id < 1 << 61 for producer_id in ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.rule("CLIENT-8")
def test_repeated_batch_gets_its_first_offset(alone: NodesInProcess) -> None:
    with alone.wire(1) as wire:
        batches = [append(wire, 1001, sequence) for sequence in (0, 2, 4, 6, 8)]
        repeated = [append(wire, 1001, sequence) for sequence in (8, 0, 4)]
        following = append(wire, 1001, 10)

    start = batches[0].base_offset
    assert [batch.base_offset for batch in batches] == [start + 2 * at for at in range(5)]
    assert [batch.base_offset for batch in repeated] == [start + 8, start, start + 4]
    assert {batch.error_code for batch in (*batches, *repeated, following)} == {ErrorCode.NONE}
    assert following.base_offset == start + 10, "the repeats were not appended"


@pytest.mark.parametrize(
    ("producer_id", "before", "sequence", "epoch", "error"),
    [
        pytest.param(2001, [0], 4, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="gap"),
        pytest.param(2002, [], 2, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="unknown id in the middle"),
        pytest.param(2003, [0, 2, 4, 6, 8, 10], 0, 0, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="older than five"),
        pytest.param(2004, [0], 2, 1, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, id="new epoch in the middle"),
        pytest.param(2005, [0], 0, 1, ErrorCode.NONE, id="new epoch from the start"),
    ],
)
@pytest.mark.rule("CLIENT-8")
def test_sequence_is_judged(
    alone: NodesInProcess, producer_id: int, before: list[int], sequence: int, epoch: int, error: ErrorCode
) -> None:
    with alone.wire(1) as wire:
        for earlier in before:
            assert append(wire, producer_id, earlier).error_code == ErrorCode.NONE

        judged = append(wire, producer_id, sequence, epoch=epoch)

    assert judged.error_code == error


@pytest.mark.rule("CLIENT-8")
def test_older_epoch_of_a_producer_is_fenced(alone: NodesInProcess) -> None:
    with alone.wire(1) as wire:
        append(wire, 3001, 0, epoch=4)

        assert append(wire, 3001, 2, epoch=3).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.rule("CLIENT-8")
def test_repeated_batch_waits_for_the_commit_of_the_first(leading: Pair) -> None:
    start = leading.commit()
    batch = batch_of(b"v", producer_id=7, sequence=0)
    with leading.wire() as first, leading.wire() as second:
        first.send(produce_request(batch), VERSION)
        leading.wait_for_log_end(start + 1)
        second.send(produce_request(batch), VERSION)
        is_silent_before = second.is_silent(for_s=0.2)
        leading.commit()

        offsets = [produced(wire.receive(ProduceResponse)).base_offset for wire in (first, second)]

    assert is_silent_before
    assert offsets == [start, start]
    assert leading.log_end == start + 1


@pytest.mark.rule("CLIENT-8")
def test_producers_are_known_again_after_a_restart(tmp_path: Path) -> None:
    with NodesInProcess(voters_properties(tmp_path, voters=1)) as nodes:
        nodes.start().wait_for_leader()
        with nodes.wire(1) as wire:
            before = append(wire, 5, 0)
        nodes.stop(1)
        nodes.start(1).wait_for_leader()
        with nodes.wire(1) as wire:
            repeated = append(wire, 5, 0)
            gap = append(wire, 5, 4)

    assert (repeated.error_code, repeated.base_offset) == (ErrorCode.NONE, before.base_offset)
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


@pytest.mark.parametrize("version", [8, 9, 13])
@pytest.mark.rule("CLIENT-11")
def test_other_rows_under_a_written_key_are_refused_with_what_is_there(leading: Pair, version: int) -> None:
    key = WriteKey("query", 3)

    def write(*rows: bytes) -> ProduceRequest:
        batch = batch_of(*rows, producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
        return produce_request(batch)

    start = leading.commit()
    with leading.wire() as first, leading.wire() as second:
        first.send(write(b"a", b"b"), version)
        leading.wait_for_log_end(start + 2)
        second.send(write(b"a", b"c"), version)
        is_silent_before = second.is_silent(for_s=0.2)
        leading.commit()
        written, refused = (produced(wire.receive(ProduceResponse)) for wire in (first, second))
        repeated = produced(second.ask(write(b"b", b"a"), version, ProduceResponse))

    assert is_silent_before, "what is there may still be cut off"
    assert (written.error_code, written.base_offset) == (ErrorCode.NONE, start)
    assert (repeated.error_code, repeated.base_offset) == (ErrorCode.NONE, start)
    assert (refused.error_code, refused.base_offset) == (ErrorCode.DUPLICATE_RESOURCE, start)
    assert refused.error_message == (
        f"version 3 of producer id {key.producer_id} was written at offset {start} with record count 2; the batch that "
        "came has the same record count, but other records"
    )


def test_keyed_write_is_in_the_log_once_and_an_older_one_never(alone: NodesInProcess) -> None:
    def write(wire: Wire, version: int) -> ProduceResponsePartition:
        key = WriteKey("query", version)
        batch = batch_of(b"row", producer_id=key.producer_id, epoch=key.producer_epoch, sequence=key.base_sequence)
        return produced(wire.ask(produce_request(batch), VERSION, ProduceResponse))

    with alone.wire(1) as wire:
        first, newer, repeated, older = (write(wire, version) for version in (4, 9, 9, 4))

    assert (first.error_code, newer.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert newer.base_offset == first.base_offset + 1, "versions may jump"
    assert (repeated.error_code, repeated.base_offset) == (ErrorCode.NONE, newer.base_offset)
    assert (older.error_code, older.base_offset) == (ErrorCode.DUPLICATE_SEQUENCE_NUMBER, newer.base_offset)
