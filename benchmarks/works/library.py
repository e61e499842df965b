"""Records one by one in a Python program: this project's library beside confluent-kafka and aiokafka, on our nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Stage
from benchmarks.works.work import Work, in_millions
from tests.node.harness.properties import TOPIC

_CONFLUENT = "confluent-kafka, same nodes"
_AIOKAFKA = "aiokafka, same nodes"
_RATE = "records/s"
_VALUE_BYTES = 100
_FUNCTIONS = {OURS: "library", _CONFLUENT: "confluent", _AIOKAFKA: "aiokafka"}


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    rows = in_millions(sizes.library_rows)
    titles = {
        "append": f"Python program appends {rows} records of 100 B",
        "read": f"Python program reads {rows} of them",
    }
    return [
        Comparison(title=title, step=step, measure=_RATE, peer=peer)
        for step, title in titles.items()
        for peer in (_CONFLUENT, _AIOKAFKA)
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    program, quorum = stage.program(OURS, "library"), stage.quorum(OURS)
    arguments = {"servers": quorum.bootstrap_servers, "topic": TOPIC, "rows": stage.sizes.library_rows}

    def runs(step: str, **more: int) -> dict[str, Callable[[], Measures]]:
        return {
            contestant: _run(program, f"{step}_by_{function}", {**arguments, **more})
            for contestant, function in _FUNCTIONS.items()
        }

    return [Step(name="append", runs=runs("append", value_bytes=_VALUE_BYTES)), Step(name="read", runs=runs("read"))]


def _run(program: Program, function: str, arguments: dict[str, object]) -> Callable[[], Measures]:
    return lambda: {_RATE: float(str(arguments["rows"])) / program.call(function, **arguments)}


WORK = Work(
    name="library",
    services=frozenset(),
    rounds=lambda sizes: sizes.bulk_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
