"""Many records at a time: librdkafka to our three voters and to one broker of Kafka's; our client; TestRaftServer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.servers.raft_server import growth_bytes_a_second
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.work import Work
from tests.node.harness.properties import TOPIC

_BROKER = "librdkafka to one Kafka broker, not flushed"
_RAFT_SERVER = "TestRaftServer, 3 voters, its own records"
_RATE = "MB/s"


def _by_librdkafka(value_bytes: int) -> str:
    return f"librdkafka, {value_bytes} B"


def _by_client(value_bytes: int) -> str:
    return f"our client, {value_bytes} B"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    return [
        Comparison(
            title=f"bulk append: {step(size)}", step=step(size), measure=_RATE, peer=peer, peer_step=peer_step(size)
        )
        for size in sizes.bulk_value_bytes
        for step, peer, peer_step in (
            (_by_librdkafka, _BROKER, _by_librdkafka),
            (_by_librdkafka, _RAFT_SERVER, _by_client),
            (_by_client, _BROKER, _by_librdkafka),
            (_by_client, _RAFT_SERVER, _by_client),
        )
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    broker, kafka = stage.find(stage.broker), stage.find(stage.kafka)
    if broker is None or kafka is None:
        return []
    topic = broker.create_topic(stage.new_folder("topic").name)
    quorums = {contestant: stage.quorum(contestant) for contestant in stage.checkouts}
    programs = {contestant: stage.program(contestant, "bulk") for contestant in stage.checkouts}
    steps = []
    for size in stage.sizes.bulk_value_bytes:
        rows = stage.sizes.bulk_bytes // size
        librdkafka: dict[str, Callable[[], Measures]] = {}
        client: dict[str, Callable[[], Measures]] = {}
        for contestant, program in programs.items():
            servers = quorums[contestant].bootstrap_servers
            librdkafka[contestant] = _call(program, size, "by_librdkafka", servers=servers, topic=TOPIC, rows=rows)
            client[contestant] = _call(program, size, "by_client", servers=servers, rows=rows)
        librdkafka[_BROKER] = _call(
            programs[OURS], size, "by_librdkafka", servers=broker.bootstrap_servers, topic=topic, rows=rows
        )
        client[_RAFT_SERVER] = _raft_server(stage, size)
        steps += [
            Step(name=_by_librdkafka(size), runs=librdkafka),
            Step(name=_by_client(size), runs=client),
        ]
    return steps


def _call(program: Program, value_bytes: int, function: str, *, rows: int, **arguments: str) -> Callable[[], Measures]:
    def run() -> Measures:
        seconds = program.call(function, rows=rows, value_bytes=value_bytes, **arguments)
        return {_RATE: rows * value_bytes / seconds / 1e6}

    return run


def _raft_server(stage: Stage, value_bytes: int) -> Callable[[], Measures]:
    def run() -> Measures:
        bytes_a_second = growth_bytes_a_second(
            stage.kafka(),
            stage.new_folder("raft-server"),
            value_bytes=value_bytes,
            warm_up_s=stage.sizes.raft_server_warm_up_s,
            measured_s=stage.sizes.raft_server_s,
        )
        return {_RATE: bytes_a_second / 1e6}

    return run


WORK = Work(
    name="bulk",
    services=frozenset({Service.BROKER}),
    rounds=lambda sizes: sizes.bulk_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
