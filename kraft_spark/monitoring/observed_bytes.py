"""Bytes of a stream, counted by Spark while it runs a batch: the progress of a query has rows only."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import coalesce, lit, octet_length
from pyspark.sql.functions import sum as sum_of

OBSERVATION = "kraft_bytes"

_COLUMN = "bytes"
_COUNTED = ("key", "value")


def observe_bytes(stream: DataFrame, name: str = OBSERVATION) -> DataFrame:
    """Return the stream with a count of the bytes of its columns `key` and `value`, which `QueryMonitor` reads.

    The rows are not changed. Headers are not counted. It is `DataFrame.observe`, so Spark counts in the tasks that
    process the rows.

    Args:
        stream: a stream from or to a quorum, with at least one of these columns, binary or string.
        name: of the observation; begins with `kraft_bytes`. The streams of one query need different names.

    Raises:
        ValueError: neither column exists, or the name begins with another word.
    """
    if not name.startswith(OBSERVATION):
        raise ValueError(f"name={name}: expected a name that begins with {OBSERVATION}")
    counted = [column for column in _COUNTED if column in stream.columns]
    if not counted:
        raise ValueError(f"no column {' or '.join(_COUNTED)} to count; columns are {', '.join(stream.columns)}")
    size = reduce(add, [coalesce(octet_length(column), lit(0)) for column in counted])
    return stream.observe(name, coalesce(sum_of(size), lit(0)).alias(_COLUMN))


def observed_bytes(metrics: Mapping[str, Any]) -> int | None:
    """Return the bytes that the observed metrics of a micro-batch have, of all its streams; None if there are none."""
    sizes = [row[_COLUMN] for name, row in metrics.items() if name.startswith(OBSERVATION)]
    return sum(size or 0 for size in sizes) if sizes else None
