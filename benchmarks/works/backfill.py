"""A batch read of a whole log, beside the same rows made in the task and beside Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, filled_quorum, filled_topic, kafka_options, kraft_options
from benchmarks.works.work import Work, in_millions

_TASKS = 2
_STEP = "batch read"
_CEILING = "Arrow made in place"
_KAFKA = "Spark's Kafka source, 2 partitions"
_RATE = "rows/s"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    title = f"backfill, {in_millions(sizes.backfill_rows)} rows of 110 B, 2 tasks"
    return [
        Comparison(title=title, step=_STEP, measure=_RATE, peer=_CEILING, at_least=0.75, aim=0.85),
        Comparison(title=title, step=_STEP, measure=_RATE, peer=_KAFKA),
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    rows = stage.sizes.backfill_rows
    spark = stage.spark(OURS)
    runs: dict[str, Callable[[], Measures]] = {}
    for contestant in stage.checkouts:
        quorum = filled_quorum(stage, contestant, rows)
        options = kraft_options(quorum, minPartitions=_TASKS)
        runs[contestant] = _read(stage.spark(contestant), "kraft", options, rows)
    runs[_CEILING] = _read(spark, "ready_made", {"rows": str(rows)}, rows)
    broker = stage.find(stage.broker)
    if broker is not None:
        topic = filled_topic(stage, broker, partitions=_TASKS, rows=rows)
        runs[_KAFKA] = _read(spark, "kafka", kafka_options(broker, topic), rows)
    return [Step(name=_STEP, runs=runs)]


def _read(spark: Program, format: str, options: Options, rows: int) -> Callable[[], Measures]:
    counted = spark.call("count", format=format, options=options)
    assert counted == rows, f"{format}: {counted} rows are read, {rows} were written"
    return lambda: {_RATE: rows / spark.call("read", format=format, options=options)}


WORK = Work(
    name="backfill",
    services=frozenset({Service.SPARK, Service.BROKER}),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
