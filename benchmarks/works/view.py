"""The newest row of each key by `view=latest`, beside Spark's own way after a plain read, and that read alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.contest import OURS, Comparison, Measures, Step
from benchmarks.program import Program
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, kraft_options
from benchmarks.works.work import Work, in_millions

_STEP = "view"
_TWO_TASKS = "view=latest, 2 tasks"
_BY_SPARK = "plain read, 2 tasks, and max_by"
_PLAIN = "plain read of all rows, 1 task"
_RATE = "rows/s"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    title = f"newest row of {sizes.view_keys:,} keys, {in_millions(sizes.view_rows)} rows of 110 B, 1 task"
    return [Comparison(title=title, step=_STEP, measure=_RATE, peer=peer) for peer in (_BY_SPARK, _PLAIN, _TWO_TASKS)]


def _steps(stage: Stage) -> Sequence[Step]:
    rows, keys, spark = stage.sizes.view_rows, stage.sizes.view_keys, stage.spark(OURS)
    quorum = stage.quorum(OURS)
    spark.call("fill_keys_by_client", servers=quorum.bootstrap_servers, rows=rows, keys=keys)
    view, split = {"view": "latest"}, {"minPartitions": 2}
    found = spark.call("count", format="kraft", options=kraft_options(quorum, **view))
    assert 0 < found <= keys, f"{found} keys are found, at most {keys} were written"
    return [
        Step(
            name=_STEP,
            runs={
                OURS: _run(spark, "read", kraft_options(quorum, **view), rows),
                _BY_SPARK: _run(spark, "newest", kraft_options(quorum, **split), rows),
                _PLAIN: _run(spark, "read", kraft_options(quorum), rows),
                _TWO_TASKS: _run(spark, "read", kraft_options(quorum, **view, **split), rows),
            },
        )
    ]


def _run(spark: Program, call: str, options: Options, rows: int) -> Callable[[], Measures]:
    return lambda: {_RATE: rows / spark.call(call, format="kraft", options=options)}


WORK = Work(
    name="view",
    services=frozenset({Service.SPARK}),
    rounds=lambda sizes: sizes.spark_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
