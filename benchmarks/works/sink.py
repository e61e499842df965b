"""A stream written in equal micro-batches, beside Spark's Kafka sink, which writes at least once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, kraft_options
from benchmarks.works.work import Work

_STEP = "streaming sink"
_KAFKA = "Spark's Kafka sink, at least once"
_RATE = "rows/s"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    title = f"streaming sink, {sizes.sink_batch_rows:,} rows a batch, exactly once"
    return [Comparison(title=title, step=_STEP, measure=_RATE, peer=_KAFKA, at_least=0.95, aim=1.15)]


def _steps(stage: Stage) -> Sequence[Step]:
    broker = stage.find(stage.broker)
    if broker is None:
        return []
    runs: dict[str, Callable[[], Measures]] = {}
    topic = broker.create_topic(stage.new_folder("topic").name)
    for contestant in stage.checkouts:
        options = kraft_options(stage.quorum(contestant))
        runs[contestant] = _write(stage, stage.spark(contestant), "kraft", options)
    options = {"kafka.bootstrap.servers": broker.bootstrap_servers, "topic": topic}
    runs[_KAFKA] = _write(stage, stage.spark(OURS), "kafka", options)
    return [Step(name=_STEP, runs=runs)]


def _write(stage: Stage, spark: Program, format: str, options: Options) -> Callable[[], Measures]:
    sizes = stage.sizes

    def run() -> Measures:
        seconds = spark.call(
            "sink",
            format=format,
            options=options,
            checkpoint=str(stage.new_folder("checkpoint")),
            rows_a_batch=sizes.sink_batch_rows,
            batches=sizes.sink_batches,
            first_batches=sizes.sink_first_batches,
        )
        return {_RATE: sizes.sink_batch_rows / seconds}

    return run


WORK = Work(
    name="sink",
    services=frozenset({Service.SPARK, Service.BROKER}),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
