"""The time from the acknowledgement of a record until a foreachBatch function gets it."""

from __future__ import annotations

import random
import statistics
import threading
import time

from pyspark.sql import DataFrame, SparkSession

from benchmarks.side.appends import Append

_FIRST = 5
"""Appends that do not count: the first batches of a query are slower."""

_PAUSE_S = (0.3, 0.4)
"""The pause before the next append. By then the trigger has ended, and the query waits for records. It is random, so
that appends come at different moments of the query's polling interval."""

_LONGEST_S = 30.0
_SEED = 8


class Sightings:
    """The values that the function of a query got, and when."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._seen_s: dict[bytes, float] = {}

    def collect(self, rows: DataFrame, batch_id: int) -> None:
        """Note the values of a micro-batch; the function of foreachBatch."""
        del batch_id
        values = [bytes(row.value) for row in rows.select("value").collect()]
        now_s = time.monotonic()
        with self._changed:
            self._seen_s.update(dict.fromkeys(values, now_s))
            self._changed.notify_all()

    def wait_for(self, value: bytes) -> float:
        """Wait for a value; return when it came, in seconds of the monotonic clock.

        Raises:
            TimeoutError: it does not come in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: value in self._seen_s, _LONGEST_S):
                raise TimeoutError(f"{value!r} was acknowledged and not seen within {_LONGEST_S:g} s")
            return self._seen_s[value]


def latencies(
    spark: SparkSession, append: Append, *, format: str, options: dict[str, str], checkpoint: str, samples: int
) -> dict[str, float]:
    """Append records one at a time while a query runs; return p50 and p90.

    Args:
        spark: runs the query.
        append: appends to the log that the query reads.
        format, options: of the source; the query starts at the end of the log.
        checkpoint: a folder that does not exist yet.
        samples: how many appends count.
    """
    sightings = Sightings()
    pauses = random.Random(_SEED)
    reader = spark.readStream.format(format).options(**options).option("startingOffsets", "latest")
    query = reader.load().writeStream.foreachBatch(sightings.collect).option("checkpointLocation", checkpoint).start()
    times_ms = []
    try:
        _append_until_seen(append, sightings)
        for number in range(_FIRST + samples):
            value = b"append %d" % number
            append(value)
            acknowledged_s = time.monotonic()
            seen_s = sightings.wait_for(value)
            if number >= _FIRST:
                # The function may get a record before its writer gets the acknowledgement: that counts as 0.
                times_ms.append(max(0.0, seen_s - acknowledged_s) * 1000)
            time.sleep(pauses.uniform(*_PAUSE_S))
    finally:
        query.stop()
    cuts = statistics.quantiles(times_ms, n=10, method="inclusive")
    return {"p50 ms": cuts[4], "p90 ms": cuts[8]}


def _append_until_seen(append: Append, sightings: Sightings) -> None:
    """Append until the query gets a value: it starts at the end of the log, which is after some of these."""
    deadline_s = time.monotonic() + _LONGEST_S
    while not sightings._seen_s:
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"the query sees nothing within {_LONGEST_S:g} s")
        append(b"first")
        time.sleep(0.1)
