"""Appends of one connection keep their order, and a slow check of one does not delay other connections."""

from __future__ import annotations

import threading

import pytest

from raft.errors import ErrorCode
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.produced import read_produced_batch
from raft.records.record import Record
from raft.runtime.requests import produce
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.requests import produce_request, produced

PATIENCE_S = 10.0


def test_appends_of_a_connection_keep_their_order_when_one_takes_long_to_check(alone: NodesInProcess) -> None:
    large = build_batch(
        [Record(value=bytes(8 << 20))] * 2,
        compression=Compression.ZSTD,
        producer_id=77,
        producer_epoch=0,
        base_sequence=0,
    )
    small = [batch_of(b"v", producer_id=77, sequence=sequence) for sequence in (2, 3)]
    compressed = build_batch(
        [Record(value=b"v")], compression=Compression.LZ4, producer_id=77, producer_epoch=0, base_sequence=4
    )
    with alone.wire(1) as wire:
        for batch in (large, *small, compressed):
            wire.send(produce_request(batch), 9)
        responses = [produced(wire.receive(ProduceResponse)) for _ in range(4)]

    start = responses[0].base_offset
    assert [response.error_code for response in responses] == [ErrorCode.NONE] * 4
    assert [response.base_offset for response in responses] == [start, start + 2, start + 3, start + 4]


def test_node_serves_other_connections_while_it_checks_a_compressed_batch(
    alone: NodesInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end = threading.Event()

    def slow_read(data: bytes, *, max_batch_bytes: int, strict: bool) -> object:
        if data == compressed:
            assert may_end.wait(PATIENCE_S), "the test lets the check end"
        return read_produced_batch(data, max_batch_bytes=max_batch_bytes, strict=strict)

    compressed = build_batch([Record(value=b"v")], compression=Compression.ZSTD)
    monkeypatch.setattr(produce, "read_produced_batch", slow_read)
    with alone.wire(1) as first, alone.wire(1) as second:
        first.send(produce_request(compressed), 9)
        by_second = produced(second.ask(produce_request(batch_of(b"v")), 9, ProduceResponse))
        may_end.set()
        by_first = produced(first.receive(ProduceResponse))

    assert (by_second.error_code, by_first.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert by_first.base_offset == by_second.base_offset + 1
