"""Appends of single records to three voters by one client and by many, flushed, beside puts to etcd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.contest import Better, Comparison, Measures, Step
from benchmarks.generator import VALUE_BYTES
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.work import Work

_ETCD = "etcd, 3 members"
_RATE, _P50, _P99 = "appends/s", "p50 ms", "p99 ms"


def _step_name(clients: int) -> str:
    return f"{clients} client" + ("s" if clients > 1 else "")


def _comparisons(_sizes: Sizes) -> Sequence[Comparison]:
    lower = Better.LOWER

    def line(
        clients: int,
        measure: str,
        better: Better,
        at_least: float | None = None,
        aim: float | None = None,
    ) -> Comparison:
        return Comparison(
            title=f"append of {VALUE_BYTES} B, 3 voters flushed, {_step_name(clients)}",
            step=_step_name(clients),
            measure=measure,
            peer=_ETCD,
            better=better,
            at_least=at_least,
            aim=aim,
        )

    return [
        line(1, _P50, lower, 2.7, 2.0),
        line(1, _P99, lower),
        line(64, _RATE, Better.HIGHER),
        line(64, _P99, lower),
        line(256, _RATE, Better.HIGHER, 0.75, 1.0),
        line(256, _P99, lower, 1.0, 0.7),
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    generator, etcd = stage.find(stage.generator), stage.find(stage.etcd)
    if generator is None or etcd is None:
        return []
    quorums = {contestant: stage.quorum(contestant) for contestant in stage.checkouts}
    steps = []
    for clients, total in stage.sizes.appends.items():
        runs: dict[str, Callable[[], Measures]] = {}
        for contestant, quorum in quorums.items():
            runs[contestant] = partial(generator.produce, quorum, clients=clients, total=total)
        runs[_ETCD] = partial(generator.put, etcd, clients=clients, total=total)
        steps.append(Step(name=_step_name(clients), runs=runs))
    return steps


WORK = Work(
    name="append",
    services=frozenset({Service.ETCD}),
    rounds=lambda sizes: sizes.append_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
