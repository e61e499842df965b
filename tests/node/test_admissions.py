"""The check of large and of compressed batches: beside the loop, and in the order of each connection."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from raft.errors import ErrorCode
from raft.node.admission_thread import AdmissionThread
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.produced import read_produced_batch
from raft.records.record import Record
from raft.runtime.admissions import Admissions
from raft.runtime.requests import produce
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.requests import produce_request, produced

PATIENCE_S = 10.0


class Gate:
    """A check that ends when it is let through; it says on which thread it ran."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.thread = ""

    def check(self) -> str:
        self.thread = threading.current_thread().name
        assert self._open.wait(PATIENCE_S), "nothing opens it"
        return "large"

    def open(self) -> None:
        self._open.set()


def run(play: Callable[[Admissions, list[tuple[str, str]]], asyncio.Future[None] | None]) -> list[tuple[str, str]]:
    """Play with admissions on a loop, until the future that comes back is done; return what was admitted, in order."""

    async def on_loop() -> list[tuple[str, str]]:
        admitted: list[tuple[str, str]] = []
        admissions = Admissions(AdmissionThread())
        done = play(admissions, admitted)
        if done is not None:
            await asyncio.wait_for(done, PATIENCE_S)
        admissions.close()
        return admitted

    return asyncio.run(on_loop())


def test_quick_check_is_made_at_once_on_the_loop() -> None:
    gate = Gate()
    gate.open()

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> None:
        admissions.admit("a", gate.check, lambda result: admitted.append(("a", result)), is_quick=True)
        assert admitted == [("a", "large")]

    run(play)

    assert gate.thread == threading.current_thread().name


def test_other_checks_hold_up_their_own_origin_alone() -> None:
    gate, second_gate = Gate(), Gate()

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> asyncio.Future[None]:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def admit(origin: str, name: str) -> None:
            admissions.admit(origin, lambda: name, lambda result: admitted.append((origin, result)), is_quick=True)

        admissions.admit("a", gate.check, lambda result: admitted.append(("a", result)), is_quick=False)
        admit("a", "second")
        admissions.admit("a", second_gate.check, lambda result: admitted.append(("a", result)), is_quick=False)
        admissions.admit("a", lambda: "last", lambda _: done.set_result(None), is_quick=True)
        admit("b", "passes by")
        assert admitted == [("b", "passes by")]
        gate.open()
        second_gate.open()
        return done

    assert run(play) == [("b", "passes by"), ("a", "large"), ("a", "second"), ("a", "large")]
    assert gate.thread.startswith("admission")


def test_origin_goes_on_after_a_check_that_failed() -> None:
    failures: list[str] = []

    def fail() -> str:
        raise ZeroDivisionError("a bug")

    def play(admissions: Admissions, admitted: list[tuple[str, str]]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: failures.append(repr(context["exception"])))
        done: asyncio.Future[None] = loop.create_future()
        admissions.admit("a", fail, lambda result: admitted.append(("a", result)), is_quick=False)
        admissions.admit("a", lambda: "next", lambda result: admitted.append(("a", result)), is_quick=True)
        admissions.admit("a", lambda: "last", lambda _: done.set_result(None), is_quick=True)
        return done

    assert run(play) == [("a", "next")]
    assert failures == ["ZeroDivisionError('a bug')"], "it is reported"


def test_nothing_is_admitted_after_the_end() -> None:
    gate = Gate()

    async def on_loop() -> list[str]:
        admitted: list[str] = []
        admissions = Admissions(AdmissionThread())
        admissions.admit("a", gate.check, admitted.append, is_quick=False)
        admissions.admit("b", gate.check, admitted.append, is_quick=False)
        admissions.close()
        gate.open()
        await asyncio.get_running_loop().shutdown_default_executor()
        await asyncio.sleep(0)
        return admitted

    assert asyncio.run(on_loop()) == []


def test_appends_of_a_connection_keep_their_order_whatever_their_checks_take(alone: NodesInProcess) -> None:
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
        answers = [produced(wire.answer(ProduceResponse)) for _ in range(4)]

    start = answers[0].base_offset
    assert [answer.error_code for answer in answers] == [ErrorCode.NONE] * 4
    assert [answer.base_offset for answer in answers] == [start, start + 2, start + 3, start + 4]


def test_others_are_served_while_a_compressed_batch_is_checked(
    alone: NodesInProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate()

    def slow_read(data: bytes, *, max_batch_bytes: int, strict: bool) -> object:
        if data == compressed:
            gate.check()
        return read_produced_batch(data, max_batch_bytes=max_batch_bytes, strict=strict)

    compressed = build_batch([Record(value=b"v")], compression=Compression.ZSTD)
    monkeypatch.setattr(produce, "read_produced_batch", slow_read)
    with alone.wire(1) as first, alone.wire(1) as second:
        first.send(produce_request(compressed), 9)
        by_another = produced(second.ask(produce_request(batch_of(b"v")), 9, ProduceResponse))
        gate.open()
        by_the_first = produced(first.answer(ProduceResponse))

    assert (by_another.error_code, by_the_first.error_code) == (ErrorCode.NONE, ErrorCode.NONE)
    assert by_the_first.base_offset == by_another.base_offset + 1
