"""Invalid writes: the exception says what is wrong, and no row is in the log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException
from pyspark.sql import SparkSession

from tests.spark.frames import SERVERS, Frames
from tests.spark.streams import Input, into_log, run_to_end

pytestmark = pytest.mark.spark

HEADERS = "array<struct<key:string,value:binary>>"


@pytest.fixture(autouse=True)
def nothing_is_written(frames: Frames) -> Iterator[None]:
    end = frames.end()
    yield
    # A new leader appends a control record.
    assert frames.end() == end or frames.log_values(end) == []


@pytest.mark.kafka_suite(39, 43)
@pytest.mark.parametrize(
    ("schema", "row", "message"),
    [
        ("value int", (1,), "column value has type int; expected binary or string"),
        ("key bigint, value string", (1, "x"), "column key has type bigint; expected binary or string"),
        (
            "headers map<string,string>, value string",
            ({}, "x"),
            f"column headers has type map<string,string>; expected {HEADERS}",
        ),
        (
            "topic string, value string",
            ("t", "x"),
            "column topic has no place in a record; expected value, key or headers",
        ),
        ("key string", ("k",), "column value is missing; columns are key"),
        (f"headers {HEADERS}, value string", ([(None, b"h")], "x"), "a header, or the key of one, is null"),
    ],
    ids=["value", "key", "headers", "another column", "no value", "header without key"],
)
def test_rows_are_rejected_when_they_do_not_fit_in_records(
    frames: Frames, schema: str, row: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(PySparkException) as refusal:
        frames.write(frames.rows([row], schema))

    assert message in str(refusal.value)


@pytest.mark.kafka_suite(40)
def test_write_is_rejected_when_its_options_are_invalid(frames: Frames) -> None:
    rows = frames.values(["x"])
    refusals: list[tuple[dict[str, Any], str]] = [
        ({SERVERS: ""}, "ConfigError: option kraft.bootstrap.servers is missing: expected host:port,..."),
        ({"txnAppld": "x"}, "ConfigError: unknown option txnappld: did you mean txnAppId?"),
        ({"txnAppId": "x"}, "ConfigError: expected both txnAppId and txnVersion"),
        ({"kraft.cluster.id": "J8qFJ5vSQ_WmUo0zCbbnZg"}, "expected J8qFJ5vSQ_WmUo0zCbbnZg"),
        (
            {SERVERS: "127.0.0.1:1", "kraft.default.api.timeout.ms": 3000},
            " s: 127.0.0.1:1: Connection refused",
        ),
    ]

    for options, message in refusals:
        with pytest.raises(AnalysisException) as refusal:
            frames.write(rows, **options)
        assert message in str(refusal.value), options


@pytest.mark.kafka_suite(43)
@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("overwrite", 'mode("overwrite"): a log is only appended to; expected mode("append")'),
        ("ignore", 'cannot be written in the "Ignore" mode'),
        ("errorifexists", 'cannot be written in the "ErrorIfExists" mode'),
    ],
)
def test_batch_is_rejected_when_it_does_more_than_append(frames: Frames, mode: str, message: str) -> None:
    with pytest.raises(AnalysisException) as refusal:
        frames.values(["x"]).write.format("kraft").option(SERVERS, frames.servers).mode(mode).save()

    assert message in str(refusal.value)


@pytest.mark.kafka_suite(39)
@pytest.mark.parametrize(
    ("mode", "columns", "options", "message"),
    [
        ("complete", "value", {}, 'outputMode("complete"): a log is only appended to; expected outputMode("append")'),
        ("update", "value", {}, "kraft does not support Update mode"),
        ("append", "length(value) value", {}, "column value has type int; expected binary or string"),
        ("append", "value", {"txnAppId": "a", "txnVersion": 1}, "txnAppId is for batch writes and foreachBatch only"),
    ],
    ids=["complete", "update", "column", "key of the user's"],
)
def test_stream_is_rejected_when_it_starts(
    frames: Frames, spark: SparkSession, tmp_path: Path, mode: str, columns: str, options: dict[str, Any], message: str
) -> None:
    source = Input(tmp_path / "input")
    source.add(["x"])
    stream = source.stream(spark).selectExpr(columns)
    if mode == "complete":
        stream = stream.groupBy("value").count().select("value")

    with pytest.raises(StreamingQueryException) as refusal:
        run_to_end(into_log(stream, frames.servers, tmp_path / "checkpoint", **options).outputMode(mode).start())

    assert message in str(refusal.value)
