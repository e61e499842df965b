"""Rows packed and unpacked in Spark, beside JSON and beside functions that call msgpack for each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Stage
from benchmarks.works.work import Work, in_millions

_RATE = "rows/s"
_STEPS = {"to_msgpack": "pack", "from_msgpack": "unpack"}
_PEERS = {
    "to_msgpack": {"to_json": "json", "msgpack.packb in an arrow_udf": "arrow", "msgpack.packb in a udf": "python"},
    "from_msgpack": {
        "from_json": "json",
        "msgpack.unpackb in an arrow_udf": "arrow",
        "msgpack.unpackb in a udf": "python",
    },
}


def _rows(sizes: Sizes) -> int:
    return sizes.backfill_rows // 5


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    return [
        Comparison(title=f"{step}, {in_millions(_rows(sizes))} rows", step=step, measure=_RATE, peer=peer)
        for step, peers in _PEERS.items()
        for peer in peers
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    programs = {
        contestant: stage.program(contestant, "values", str(stage.new_folder(f"values-{contestant}")))
        for contestant in stage.checkouts
    }
    steps = []
    for step, call in _STEPS.items():
        runs = {contestant: _run(stage, program, call, "ours") for contestant, program in programs.items()}
        for peer, way in _PEERS[step].items():
            runs[peer] = _run(stage, programs[OURS], call, way)
        steps.append(Step(name=step, runs=runs))
    return steps


def _run(stage: Stage, program: Program, call: str, way: str) -> Callable[[], Measures]:
    rows = _rows(stage.sizes)
    return lambda: {_RATE: rows / program.call(call, way=way, rows=rows)}


WORK = Work(
    name="msgpack",
    services=frozenset(),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
