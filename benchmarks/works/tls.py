"""Appends and a batch read over TLS with certificates on both sides and rules, beside the same without protection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.contest import OURS, Better, Comparison, Measures, Step
from benchmarks.generator import VALUE_BYTES
from benchmarks.program import Program
from benchmarks.servers.quorum import Quorum
from benchmarks.sizes import Sizes
from benchmarks.stage import Service, Stage
from benchmarks.works.filled import Options, kraft_options
from benchmarks.works.work import Work, in_millions

_TASKS = 2
_OPEN = "without TLS"
_READ = "batch read over TLS"
_RATE, _P50, _P99, _ROWS = "appends/s", "p50 ms", "p99 ms", "rows/s"


def _step_name(clients: int) -> str:
    return f"{clients} client" + ("s" if clients > 1 else "") + " over TLS"


def _comparisons(sizes: Sizes) -> Sequence[Comparison]:
    lower, higher = Better.LOWER, Better.HIGHER
    of_appends = [(1, _P50, lower), (64, _RATE, higher), (64, _P99, lower), (256, _RATE, higher), (256, _P99, lower)]
    lines = [
        Comparison(
            title=f"append of {VALUE_BYTES} B, 3 voters flushed, {_step_name(clients)}",
            step=_step_name(clients),
            measure=measure,
            peer=_OPEN,
            better=better,
        )
        for clients, measure, better in of_appends
    ]
    title = f"backfill over TLS, {in_millions(sizes.backfill_rows)} rows of 110 B, {_TASKS} tasks"
    return [*lines, Comparison(title=title, step=_READ, measure=_ROWS, peer=_OPEN)]


def _steps(stage: Stage) -> Sequence[Step]:
    quorums = {OURS: stage.tls_quorum(), _OPEN: stage.quorum(OURS)}
    steps = []
    generator = stage.find(stage.generator)
    if generator is not None:
        for clients, total in stage.sizes.appends.items():
            runs: dict[str, Callable[[], Measures]] = {
                contestant: partial(generator.produce, quorum, clients=clients, total=total)
                for contestant, quorum in quorums.items()
            }
            steps.append(Step(name=_step_name(clients), runs=runs))
    spark, rows = stage.spark(OURS), stage.sizes.backfill_rows
    reads = {contestant: _filled_and_read(spark, quorum, rows) for contestant, quorum in quorums.items()}
    return [*steps, Step(name=_READ, runs=reads)]


def _filled_and_read(spark: Program, quorum: Quorum, rows: int) -> Callable[[], Measures]:
    """Append the rows before the appends that are measured, so that the read of all rounds ends there."""
    with quorum.client() as client:
        start_offset = client.last_stable_offset()
    spark.call("fill_by_client", servers=quorum.bootstrap_servers, rows=rows, security=quorum.client_properties)
    with quorum.client() as client:
        end_offset = client.last_stable_offset()
    security: Options = {f"kraft.{key}": value for key, value in quorum.client_properties.items()}
    options = security | kraft_options(
        quorum, minPartitions=_TASKS, startingOffsets=start_offset, endingOffsets=end_offset
    )
    counted = spark.call("count", format="kraft", options=options)
    assert counted == rows, f"{counted} rows are read, {rows} were written"
    return lambda: {_ROWS: rows / spark.call("read", format="kraft", options=options)}


WORK = Work(
    name="tls",
    services=frozenset({Service.SPARK}),
    rounds=lambda sizes: sizes.append_rounds,
    comparisons=_comparisons,
    steps=_steps,
)
