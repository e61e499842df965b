"""Misbehaving connections: each is dropped without effect on others, and takes bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from raft.errors import ErrorCode
from raft.node.request_frames import MAX_REQUEST_BYTES
from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from raft.wire.messages.fetch import FetchRequest, FetchResponse
from raft.wire.messages.metadata import MetadataRequest
from raft.wire.messages.produce import ProduceResponse
from tests.node.harness.batches import batch_of, batches_in
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import leading_pair
from tests.node.harness.properties import voters_properties
from tests.node.harness.requests import fetch_request, fetched, produce_request, produced
from tests.node.harness.waiting import eventually
from tests.node.harness.wire import Wire
from tests.processes.node_process import NodeProcess, client_of

LOOK_AROUND_S = 6
STALLED_S = 31
DAY_MS = 86_400_000
FRAME_BYTES = 70_536
_OBSERVERS_FETCH = replace(fetch_request(1, epoch=1, last_fetched_epoch=1, max_wait_ms=DAY_MS), replica_id=9)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """A node that reads frames of `FRAME_BYTES` and has five connections."""
    configurations = voters_properties(
        tmp_path_factory.mktemp("small"),
        voters=1,
        message__max__bytes="5000",
        socket__request__max__bytes=str(FRAME_BYTES),
        max__connections="5",
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        yield nodes


def is_served(wire: Wire) -> bool:
    return wire.ask(ApiVersionsRequest(), 4, ApiVersionsResponse).error_code == 0


def request_frame() -> bytes:
    return encode_request(MetadataRequest(topics=None), 9, correlation_id=1, client_id="x")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param((FRAME_BYTES + 1).to_bytes(4, "big"), id="frame too large, known by its size alone"),
        pytest.param(b"\xff\xff\xff\xff", id="negative size"),
        pytest.param(b"\x80\x00\x00\x00", id="most negative size"),
        pytest.param(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", id="HTTP"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="TLS"),
        pytest.param(b"\x00\x00\x00\x00", id="empty frame"),
        pytest.param(b"\x00\x00\x00\x03\x00\x12\x00", id="frame shorter than a header"),
        pytest.param(b"\x00\x00\x00\x0a" + b"\x00\x12\x00\x03\x00\x00\x00\x01\x7f\xff", id="client id past the end"),
        pytest.param(b"\x00\x00\x13\x88" + bytes(range(256)) * 20, id="rubbish"),
    ],
)
def test_bytes_that_are_no_request_end_their_connection_alone(small: NodesInProcess, data: bytes) -> None:
    with small.wire(1) as other, small.wire(1) as wire:
        assert is_served(wire)
        wire.send_bytes(data)

        assert wire.is_closed_by_node()
        assert is_served(other)


def test_frame_of_exactly_the_limit_is_read(small: NodesInProcess) -> None:
    request = encode_request(produce_request(batch_of(b"x")), 9, correlation_id=1, client_id="c")[4:]
    body = request + bytes(FRAME_BYTES - len(request))  # Bytes after a message are ignored.
    with small.wire(1) as wire:
        wire.send_bytes(len(body).to_bytes(4, "big") + body)

        assert wire.frame()[:4] == b"\x00\x00\x00\x01"


def test_request_that_is_no_append_is_read_up_to_64_kib(small: NodesInProcess) -> None:
    def request_of(size_bytes: int) -> bytes:
        filling = size_bytes - 10
        return b"\x00\x12\x00\x00\x00\x00\x00\x01" + min(filling, 30_000).to_bytes(2, "big") + b"c" * filling

    with small.wire(1) as wire:
        for size_bytes in (MAX_REQUEST_BYTES, MAX_REQUEST_BYTES + 1):
            wire.send_bytes(size_bytes.to_bytes(4, "big") + request_of(size_bytes))
            if size_bytes == MAX_REQUEST_BYTES:
                assert wire.frame()[:6] == b"\x00\x00\x00\x01\x00\x00"

        assert wire.is_closed_by_node()


def test_request_is_accepted_byte_by_byte(small: NodesInProcess) -> None:
    with small.wire(1) as wire:
        for byte in encode_request(ApiVersionsRequest(), 0, correlation_id=5, client_id=None):
            wire.send_bytes(bytes([byte]))

        assert wire.frame()[:6] == b"\x00\x00\x00\x05\x00\x00"


def test_connection_is_dropped_when_it_does_not_complete_a_frame(small: NodesInProcess) -> None:
    with small.wire(1) as wire:
        assert is_served(wire)
        wire.send_bytes(request_frame()[:-1])
        small.thread.jump(STALLED_S / 2)
        small.thread.jump(LOOK_AROUND_S)
        is_open_at_first = wire.is_silent(for_s=0.1)
        small.thread.jump(STALLED_S)
        small.thread.jump(LOOK_AROUND_S)

        assert is_open_at_first
        assert wire.is_closed_by_node()


def test_idle_connection_is_dropped_unless_it_waits_for_a_response(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=1, connections__max__idle__ms="20000")
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.wire(1) as idle, nodes.wire(1) as waiting:
            assert is_served(idle)
            waiting.send(fetch_request(1, max_wait_ms=DAY_MS), 12)
            assert waiting.is_silent(for_s=0.1)
            nodes.thread.jump(10)
            nodes.thread.jump(LOOK_AROUND_S)
            is_open_at_first = idle.is_silent(for_s=0.1)
            nodes.thread.jump(21)
            nodes.thread.jump(LOOK_AROUND_S)

            assert is_open_at_first
            assert idle.is_closed_by_node()
            assert waiting.is_silent(for_s=0.1)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(fetch_request(1, max_wait_ms=DAY_MS), id="a client's"),
        pytest.param(_OBSERVERS_FETCH, id="an observer's"),
    ],
)
def test_fetch_waits_a_minute_at_most(alone: NodesInProcess, request_: FetchRequest) -> None:
    with alone.wire(1) as wire:
        wire.send(request_, 12)
        is_silent_at_first = wire.is_silent(for_s=0.1)
        alone.thread.jump(61)

        assert is_silent_at_first
        wire.receive(FetchResponse)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(fetch_request(1, max_wait_ms=DAY_MS), id="a client's"),
        pytest.param(_OBSERVERS_FETCH, id="an observer's"),
    ],
)
def test_fetch_of_a_connection_that_is_gone_is_forgotten(alone: NodesInProcess, request_: FetchRequest) -> None:
    node = alone.running[1]
    for _ in range(10):
        with alone.wire(1) as wire:
            wire.send(request_, 12)
            assert wire.is_silent(for_s=0.02)

    eventually(lambda: not node.parts.replica.engine._waiting and not node.core._state.parked, "all are forgotten")


@pytest.mark.parametrize(
    ("fetch_max_bytes", "message_max_bytes"),
    [pytest.param("20000", "10000", id="of its own fetches"), pytest.param("10000", "20000", id="of a batch")],
)
def test_replica_gets_no_more_bytes_than_the_node_itself_would_fetch(
    tmp_path: Path, fetch_max_bytes: str, message_max_bytes: str
) -> None:
    configurations = voters_properties(
        tmp_path,
        voters=1,
        controller__quorum__fetch__max__bytes=fetch_max_bytes,
        message__max__bytes=message_max_bytes,
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.wire(1) as wire:
            for _ in range(4):
                wire.ask(produce_request(batch_of(b"x" * 9_000)), 9, ProduceResponse)
            everything = fetch_request(1, epoch=1, last_fetched_epoch=1, max_bytes=(1 << 31) - 1)

            response = fetched(wire.ask(replace(everything, replica_id=9), 12, FetchResponse))

    assert len(batches_in(response.records)) == 2, "20,000 bytes, of 36,000"


def test_connection_that_was_idle_for_longest_is_dropped_for_a_new_one(small: NodesInProcess) -> None:
    with ExitStack() as stack:
        spoken = [stack.enter_context(small.wire(1)) for _ in range(4)]
        assert all(is_served(wire) for wire in spoken)
        silent = stack.enter_context(small.wire(1))
        eventually(lambda: len(small.running[1].parts.connections) == 5, "all are open")

        fifth = stack.enter_context(small.wire(1))
        assert is_served(fifth)
        assert is_served(spoken[0])
        newest = stack.enter_context(small.wire(1))
        assert silent.is_closed_by_node(), "it has never spoken"
        assert is_served(newest)

        assert spoken[1].is_closed_by_node(), "the first has spoken since"
        assert all(is_served(wire) for wire in (spoken[0], *spoken[2:], fifth, newest))


def test_connections_of_voters_stay_when_there_are_too_many(tmp_path: Path) -> None:
    with leading_pair(tmp_path, max__connections="3") as pair, ExitStack() as stack:
        voter = stack.enter_context(pair.wire())
        fetch = replace(fetch_request(pair.log_end, epoch=pair.epoch, last_fetched_epoch=pair.epoch), replica_id=2)
        voter.ask(fetch, 12, FetchResponse)
        for _ in range(5):
            assert is_served(stack.enter_context(pair.wire()))

        voter.ask(fetch, 12, FetchResponse)


def test_connections_of_one_address_are_limited(tmp_path: Path) -> None:
    configurations = voters_properties(tmp_path, voters=1, max__connections__per__ip="2")
    with NodesInProcess(configurations) as nodes, ExitStack() as stack:
        nodes.start().wait_for_leader()
        allowed = stack.enter_context(nodes.wire(1))
        with nodes.wire(1) as second, nodes.wire(1) as refused:
            assert refused.is_closed_by_node()
            assert is_served(second)

        assert is_served(allowed)
        eventually(lambda: len(nodes.running[1].parts.connections) == 1, "one has ended")
        assert is_served(stack.enter_context(nodes.wire(1)))


def test_request_that_lists_too_much_ends_its_connection_alone(alone: NodesInProcess) -> None:
    (topic,) = fetch_request(0).topics

    def listing(elements: int) -> FetchRequest:
        partitions = topic.partitions * (elements - 1)  # The topic is an element too.
        return replace(fetch_request(0), topics=(replace(topic, partitions=partitions),))

    with alone.wire(1) as other, alone.wire(1) as wire:
        wire.ask(listing(1000), 4, FetchResponse)
        wire.send(listing(1001), 4)

        assert wire.is_closed_by_node()
        assert is_served(other)


def test_connection_has_a_hundred_requests_in_progress_at_most(tmp_path: Path) -> None:
    with leading_pair(tmp_path) as pair, pair.wire() as wire:
        start = pair.commit()
        for at in range(150):
            wire.send(produce_request(batch_of(b"%d" % at), timeout_ms=60_000), 9)
        pair.wait_for_log_end(start + 100)
        is_silent_before = wire.is_silent(for_s=0.2)
        end_before = pair.log_end
        pair.commit()
        pair.wait_for_log_end(start + 150)
        pair.commit()

        offsets = [produced(wire.receive(ProduceResponse)).base_offset for _ in range(150)]

    assert is_silent_before
    assert end_before == start + 100
    assert offsets == [*range(start, start + 150)]


def test_node_reads_no_more_while_too_many_bytes_wait(tmp_path: Path) -> None:
    batch = batch_of(b"x" * 1000)
    configurations = voters_properties(
        tmp_path, voters=1, queued__max__request__bytes="10000", message__max__bytes="10000"
    )
    with NodesInProcess(configurations) as nodes, ExitStack() as stack:
        nodes.start().wait_for_leader()
        core = nodes.running[1].core
        start = core.log.end_offset
        wires = [stack.enter_context(nodes.wire(1)) for _ in range(4)]
        with nodes.slow_disk(1):
            for wire in wires:
                for _ in range(20):
                    wire.send(produce_request(batch, timeout_ms=60_000), 9)
            eventually(lambda: core.log.end_offset > start + 5, "some are begun")
            is_silent_before = wires[0].is_silent(for_s=0.2)
            begun = core.log.end_offset - start

        offsets = [produced(wire.receive(ProduceResponse)).base_offset for wire in wires for _ in range(20)]

    assert is_silent_before
    assert begun <= 12, "10,000 bytes, and the one that goes past them"
    assert sorted(offsets) == [*range(start, start + 80)]


def test_followers_are_served_while_the_request_budget_is_exhausted(tmp_path: Path) -> None:
    with (
        leading_pair(tmp_path, queued__max__request__bytes="10000", message__max__bytes="10000") as pair,
        pair.wire() as wire,
    ):
        start = pair.commit()
        for _ in range(20):
            wire.send(produce_request(batch_of(b"x" * 1000), timeout_ms=60_000), 9)
        eventually(lambda: pair.log_end > start + 5, "some are begun")
        begun = pair.log_end

        # The appends are committed by the follower's fetch, so it must not wait behind them.
        def all_are_begun() -> bool:
            pair.commit()
            return pair.log_end == start + 20

        eventually(all_are_begun, "all are begun")
        pair.commit()
        offsets = [produced(wire.receive(ProduceResponse)).base_offset for _ in range(20)]

    assert begun < start + 20
    assert offsets == [*range(start, start + 20)]


def test_connection_that_the_node_does_not_read_is_not_dropped_for_that(tmp_path: Path) -> None:
    configurations = voters_properties(
        tmp_path, voters=1, queued__max__request__bytes="10000", message__max__bytes="10000"
    )
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        # With its other fields, the request alone takes more bytes than may wait.
        request = produce_request(batch_of(b"x" * 9_900), timeout_ms=600_000)
        with nodes.wire(1) as wire:
            with nodes.slow_disk(1):
                wire.send(request, 9)
                wire.send_with_half_of_another(request, 9)
                assert wire.is_silent(for_s=0.2)
                nodes.thread.jump(STALLED_S)
                nodes.thread.jump(LOOK_AROUND_S)
                assert wire.is_silent(for_s=0.2), "it waits for the disk, not for the other side"

            offsets = [produced(wire.receive(ProduceResponse)).base_offset for _ in range(2)]

    assert offsets == [1, 2]


def test_large_frame_waits_for_the_appends_before_it(tmp_path: Path) -> None:
    large = produce_request(batch_of(b"x" * 299_900), timeout_ms=600_000)
    configurations = voters_properties(
        tmp_path, voters=1, queued__max__request__bytes="300000", message__max__bytes="300000"
    )
    with NodesInProcess(configurations) as nodes, ExitStack() as stack:
        nodes.start().wait_for_leader()
        first, second = (stack.enter_context(nodes.wire(1)) for _ in range(2))
        with nodes.slow_disk(1):
            first.send(large, 9)
            eventually(lambda: nodes.thread.look(lambda: nodes.running[1].core.log.end_offset) == 2, "it is begun")
            second.send(large, 9)
            assert second.is_silent(for_s=0.2)
            assert is_served_beside(nodes)

        offsets = [produced(wire.receive(ProduceResponse)).base_offset for wire in (first, second)]

    assert offsets == [1, 2]


def is_served_beside(nodes: NodesInProcess) -> bool:
    with nodes.wire(1) as wire:
        return is_served(wire)


def test_half_frames_of_many_connections_are_bounded_together(tmp_path: Path) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process").start() as node, ExitStack() as stack:
        node.wait_until_serving()
        process = psutil.Process(node.pid)
        before_bytes = process.memory_info().rss
        for _ in range(60):
            wire = stack.enter_context(Wire(node.endpoint))
            wire.stop_waiting_after(0.05)
            with suppress(TimeoutError):
                wire.send_bytes((9 << 20).to_bytes(4, "big") + bytes(5 << 20))
        grown_bytes = process.memory_info().rss - before_bytes

    assert grown_bytes < 160 << 20, "of 300 MiB; queued.max.request.bytes is 64 MiB"


@pytest.mark.parametrize("max_bytes", [1 << 18, (1 << 31) - 1])
def test_client_takes_bounded_memory_when_it_does_not_read_responses(tmp_path: Path, max_bytes: int) -> None:
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process").start() as node:
        node.wait_until_serving()
        with client_of(node) as client:
            for _ in range(40):
                client.append(batch_of(*[b"x" * 100_000] * 10))
        process = psutil.Process(node.pid)
        before_bytes = process.memory_info().rss
        with Wire(node.endpoint, receive_buffer_bytes=4096) as deaf:
            highest_bytes = _ask_and_never_read(deaf, process, max_bytes)
            is_other_served = _is_another_served(node.endpoint)

    # One response of at most 8 MiB, several times while it is encoded.
    assert highest_bytes - before_bytes < 64 << 20
    assert is_other_served


@pytest.mark.parametrize("codec", [Compression.GZIP, Compression.ZSTD])
@pytest.mark.rule("CLIENT-6")
def test_refused_batches_that_decompress_to_too_much_free_their_memory(tmp_path: Path, codec: Compression) -> None:
    bomb = build_batch([Record(value=bytes(65 << 20))], compression=codec)
    (properties,) = voters_properties(tmp_path, voters=1).values()
    with NodeProcess(properties, tmp_path / "process").start() as node:
        node.wait_until_printed(" -> Leader")
        process = psutil.Process(node.pid)
        before_bytes = process.memory_info().rss
        with Wire(node.endpoint) as wire:
            responses = [produced(wire.ask(produce_request(bomb), 9, ProduceResponse)) for _ in range(8)]
        grown_bytes = process.memory_info().rss - before_bytes

    assert {response.error_code for response in responses} == {ErrorCode.MESSAGE_TOO_LARGE}
    assert grown_bytes < 160 << 20, "of 8 times 64 MiB that were decompressed one after the other"


def _ask_and_never_read(deaf: Wire, process: psutil.Process, max_bytes: int) -> int:
    deaf.stop_waiting_after(0.5)
    highest_bytes = 0
    for _ in range(3_000):
        try:
            deaf.send(fetch_request(0, max_bytes=max_bytes), 12)
        except TimeoutError:
            break
        highest_bytes = max(highest_bytes, int(process.memory_info().rss))
    return max(highest_bytes, int(process.memory_info().rss))


def _is_another_served(endpoint: Endpoint) -> bool:
    with Wire(endpoint) as other:
        return is_served(other)
