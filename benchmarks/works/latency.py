"""The time from the acknowledgement of an append to its row in foreachBatch, beside Spark's Kafka source."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Better, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, kafka_options, kraft_options
from benchmarks.works.work import Work

_STEP = "foreachBatch"
_TUNED = "Spark's Kafka source, fetch.max.wait.ms=10"
_DEFAULT = "Spark's Kafka source, defaults"
_TUNING = {"kafka.fetch.max.wait.ms": "10"}
_P50 = "p50 ms"


def _comparisons(_sizes: Sizes) -> Sequence[Comparison]:
    title = "append acknowledged to row in foreachBatch"
    lower = Better.LOWER
    return [
        Comparison(title=title, step=_STEP, measure=_P50, peer=_TUNED, better=lower, at_least=0.8, aim=0.7),
        Comparison(title=title, step=_STEP, measure=_P50, peer=_DEFAULT, better=lower),
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    broker = stage.find(stage.broker)
    if broker is None:
        return []
    runs: dict[str, Callable[[], Measures]] = {}
    topic = broker.create_topic(stage.new_folder("topic").name)
    of_topic = kafka_options(broker, topic)
    spark = stage.spark(OURS)
    for contestant in stage.checkouts:
        quorum = stage.quorum(contestant)
        runs[contestant] = _follow(
            stage, stage.spark(contestant), "kraft", kraft_options(quorum), {"servers": quorum.bootstrap_servers}
        )
    appends = {"servers": broker.bootstrap_servers, "topic": topic}
    runs[_TUNED] = _follow(stage, spark, "kafka", of_topic | _TUNING, appends)
    runs[_DEFAULT] = _follow(stage, spark, "kafka", of_topic, appends)
    return [Step(name=_STEP, runs=runs)]


def _follow(
    stage: Stage, spark: Program, format: str, options: Options, appends: dict[str, str]
) -> Callable[[], Measures]:
    def run() -> Measures:
        measures: Measures = spark.call(
            "latency",
            format=format,
            options=options,
            checkpoint=str(stage.new_folder("checkpoint")),
            samples=stage.sizes.latency_samples,
            **appends,
        )
        return measures

    return run


WORK = Work(
    name="latency",
    services=frozenset({Service.SPARK, Service.BROKER}),
    rounds=lambda sizes: sizes.latency_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
