"""Batch writes, one large and small ones, beside Spark's Kafka sink, which writes at least once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import BASELINE, OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, kraft_options
from benchmarks.works.work import Work, in_millions

_KAFKA = "Spark's Kafka sink, at least once"
_RATE = "rows/s"
_SMALL_ROWS = 10
_SMALL = f"writes of {_SMALL_ROWS} rows, one after the other"


def _large(sizes: Sizes) -> str:
    return f"one write of {in_millions(sizes.write_rows)} rows"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    large = _large(sizes)
    return [
        Comparison(title=f"{large}, exactly once", step=large, measure=_RATE, peer=_KAFKA, at_least=1.2, aim=2),
        Comparison(title=f"{_SMALL}, exactly once", step=_SMALL, measure=_RATE, peer=_KAFKA),
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    broker = stage.find(stage.broker)
    if broker is None:
        return []
    sizes = stage.sizes
    topic = broker.create_topic(stage.new_folder("topic").name)
    kafka = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic}
    large: dict[str, Callable[[], Measures]] = {}
    small: dict[str, Callable[[], Measures]] = {}
    for contestant in stage.checkouts:
        options, spark = kraft_options(stage.quorum(contestant)), stage.spark(contestant)
        small[contestant] = _write(spark, "kraft", options, rows=_SMALL_ROWS, times=sizes.small_writes)
        if contestant != BASELINE:
            large[contestant] = _write(spark, "kraft", options, rows=sizes.write_rows, times=1)
    spark = stage.spark(OURS)
    large[_KAFKA] = _write(spark, "kafka", kafka, rows=sizes.write_rows, times=1)
    small[_KAFKA] = _write(spark, "kafka", kafka, rows=_SMALL_ROWS, times=sizes.small_writes)
    return [Step(name=_large(sizes), runs=large), Step(name=_SMALL, runs=small)]


def _write(spark: Program, format: str, options: Options, *, rows: int, times: int) -> Callable[[], Measures]:
    def run() -> Measures:
        return {_RATE: rows * times / spark.call("write", format=format, options=options, rows=rows, times=times)}

    return run


WORK = Work(
    name="write",
    services=frozenset({Service.SPARK, Service.BROKER}),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
