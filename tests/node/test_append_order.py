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
from tests.hang import HANG_S
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.requests import produce_request, produced
from tests.node.harness.waiting import eventually


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

    def slow_read(data: bytes, *, max_batch_bytes: int, strict: bool, needs_keys: bool) -> object:
        if data == compressed:
            assert may_end.wait(HANG_S), "the test lets the check end"
        return read_produced_batch(data, max_batch_bytes=max_batch_bytes, strict=strict, needs_keys=needs_keys)

    compressed = build_batch([Record(value=b"v")], compression=Compression.ZSTD)
    monkeypatch.setattr(produce, "read_produced_batch", slow_read)
    with alone.wire(1) as first, alone.wire(1) as second:
        first.send(produce_request(compressed), 9)
        by_second = produced(second.ask(produce_request(batch_of(b"v")), 9, ProduceResponse))
        may_end.set()
        by_first = produced(first.receive(ProduceResponse))

    assert (by_second.error_code, by_first.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert by_first.base_offset == by_second.base_offset + 1


def test_append_whose_client_has_gone_is_not_checked(alone: NodesInProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    may_end = threading.Event()
    checked: list[bytes] = []

    def slow_read(data: bytes, *, max_batch_bytes: int, strict: bool, needs_keys: bool) -> object:
        checked.append(data)
        assert may_end.wait(HANG_S), "the test lets the check end"
        return read_produced_batch(data, max_batch_bytes=max_batch_bytes, strict=strict, needs_keys=needs_keys)

    stays, goes, last = (
        build_batch([Record(value=value)], compression=Compression.ZSTD) for value in (b"1", b"2", b"3")
    )
    monkeypatch.setattr(produce, "read_produced_batch", slow_read)
    connections = alone.running[1].parts.connections
    with alone.wire(1) as first:
        with alone.wire(1) as second:
            first.send(produce_request(stays), 9)
            eventually(lambda: checked, "the check of the first append has begun")
            second.send(produce_request(goes), 9)
            second.send(produce_request(batch_of(b"quick")), 9)
            eventually(lambda: sum(each.is_busy for each in connections._open) == 2, "its append is received")
        eventually(lambda: len(connections) == 1, "the second connection is closed")
        may_end.set()
        by_first = produced(first.receive(ProduceResponse))
        by_last = produced(first.ask(produce_request(last), 9, ProduceResponse))

    assert checked == [stays, last]
    assert by_last.base_offset == by_first.base_offset + 1
