"""A stream over a whole log in micro-batches of a fixed size, beside Spark's Kafka source with as many partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, filled_quorum, filled_topic, kafka_options, kraft_options
from benchmarks.works.work import Work

_PARTITIONS = (1, 2)
_KAFKA = "Spark's Kafka source"
_RATE = "rows/s"


def _step_name(partitions: int) -> str:
    return f"{partitions} partition" + ("s" if partitions > 1 else "")


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    return [
        Comparison(
            title=(
                f"stream, {sizes.stream_batches} batches of {sizes.stream_batch_rows:,} rows, {_step_name(partitions)}"
            ),
            step=_step_name(partitions),
            measure=_RATE,
            peer=_KAFKA,
            at_least=1.15,
            aim=1.4,
        )
        for partitions in _PARTITIONS
    ]


def _steps(stage: Stage) -> Sequence[Step]:
    broker = stage.find(stage.broker)
    if broker is None:
        return []
    batch_rows = stage.sizes.stream_batch_rows
    rows = stage.sizes.stream_batches * batch_rows
    quorums = {contestant: filled_quorum(stage, contestant, rows) for contestant in stage.checkouts}
    steps = []
    for partitions in _PARTITIONS:
        runs: dict[str, Callable[[], Measures]] = {}
        topic = filled_topic(stage, broker, partitions=partitions, rows=rows)
        for contestant, quorum in quorums.items():
            options = kraft_options(quorum, minPartitions=partitions, maxOffsetsPerTrigger=batch_rows)
            runs[contestant] = _stream(stage, stage.spark(contestant), "kraft", options, rows)
        options = kafka_options(broker, topic, maxOffsetsPerTrigger=batch_rows)
        runs[_KAFKA] = _stream(stage, stage.spark(OURS), "kafka", options, rows)
        steps.append(Step(name=_step_name(partitions), runs=runs))
    return steps


def _stream(stage: Stage, spark: Program, format: str, options: Options, rows: int) -> Callable[[], Measures]:
    def run() -> Measures:
        checkpoint = str(stage.new_folder("checkpoint"))
        done = spark.call("stream", format=format, options=options, checkpoint=checkpoint)
        assert done["rows"] == rows, f"{format}: the stream read {done['rows']} rows, {rows} were written"
        return {_RATE: rows / done["seconds"], "batches": done["batches"]}

    return run


WORK = Work(
    name="stream",
    services=frozenset({Service.SPARK, Service.BROKER}),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
