"""Many records at a time: by librdkafka to any server, and as Arrow by this project's client.

python -P -m benchmarks.side.bulk
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import pyarrow as pa
from confluent_kafka import KafkaError, Message, Producer

from benchmarks.side.appends import client_of
from benchmarks.side.calls import answer_calls
from benchmarks.side.rows import ROWS_A_BATCH, VALUE, key_of, rows_of_a_batch
from datasource.columns import encode_batch
from raft.client import Client

OnDelivery = Callable[[KafkaError | None, Message], None]

_LONGEST_S = 120.0
_BATCH_BYTES = 1_000_000


def by_librdkafka(servers: str, topic: str, rows: int, value_bytes: int) -> float:
    """Produce rows without keys, idempotently; return the seconds until the last one is acknowledged."""
    return _produce_all(servers, topic, [None] * rows, b"x" * value_bytes, linger_ms=5)


def fill_by_librdkafka(servers: str, topic: str, rows: int) -> None:
    """Produce the rows of the works of Spark, in batches as large as librdkafka makes them."""
    _produce_all(servers, topic, map(key_of, range(rows)), VALUE, linger_ms=100)


def _produce_all(servers: str, topic: str, keys: Iterable[bytes | None], value: bytes, *, linger_ms: int) -> float:
    refused: list[str] = []

    def on_delivery(error: KafkaError | None, message: Message) -> None:
        del message
        if error is not None:
            refused.append(str(error))

    producer = Producer(
        {
            "bootstrap.servers": servers,
            "enable.idempotence": True,
            "linger.ms": linger_ms,
            "queue.buffering.max.messages": 1_000_000,
            "queue.buffering.max.kbytes": 1 << 20,
        }
    )
    started = time.perf_counter()
    for row, key in enumerate(keys):
        _produce(producer, topic, value, key, on_delivery)
        if row % 1024 == 0:
            producer.poll(0)
    left = producer.flush(_LONGEST_S)
    seconds = time.perf_counter() - started
    assert not refused, f"{len(refused)} records were rejected, the first because: {refused[0]}"
    assert left == 0, f"{left} records were not acknowledged within {_LONGEST_S:g} s"
    return seconds


def _produce(producer: Producer, topic: str, value: bytes, key: bytes | None, on_delivery: OnDelivery) -> None:
    while True:
        try:
            producer.produce(topic, value, key, on_delivery=on_delivery)
        except BufferError:
            producer.poll(0.01)
        else:
            return


def by_client(servers: str, rows: int, value_bytes: int) -> float:
    """Append rows without keys as Arrow, in batches of about 1 MB, one after the other; return the seconds."""
    each = max(1, _BATCH_BYTES // (value_bytes + 10))
    batch_rows = pa.table({"value": pa.array([b"x" * value_bytes] * each, pa.binary())})
    return _append_each(client_of(servers), lambda: batch_rows, each, rows)


def fill_by_client(servers: str, rows: int, security: Mapping[str, str] | None = None) -> None:
    """Append the rows of the works of Spark; see `client_of` for the arguments."""
    batch_rows = pa.table(rows_of_a_batch(), names=["key", "value"])
    _append_each(client_of(servers, security), lambda: batch_rows, batch_rows.num_rows, rows)


def fill_keys_by_client(servers: str, rows: int, keys: int) -> None:
    """Append rows of 110 bytes, each with one of so many keys, which is drawn."""
    names, values = pa.array([b"key-%06d" % key for key in range(keys)], pa.binary()), rows_of_a_batch()[1]
    draw = np.random.default_rng(seed=1)

    def next_batch() -> pa.Table:
        drawn = names.take(pa.array(draw.integers(0, keys, ROWS_A_BATCH)))
        return pa.table([drawn, values], names=["key", "value"])

    _append_each(client_of(servers), next_batch, ROWS_A_BATCH, rows)


def _append_each(to: Client, next_batch: Callable[[], pa.Table], rows_a_batch: int, rows: int) -> float:
    with to as client:
        producer_id = client.new_producer_id()
        started = time.perf_counter()
        for at in range(0, rows, rows_a_batch):
            batch = encode_batch(
                next_batch().slice(0, min(rows_a_batch, rows - at)),
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=at,
                timestamp_ms=int(time.time() * 1000),
                max_bytes=4 * _BATCH_BYTES,
            )
            client.append(batch)
        return time.perf_counter() - started


def main() -> None:
    """Respond to calls until standard input ends."""
    answer_calls({"by_librdkafka": by_librdkafka, "by_client": by_client})


if __name__ == "__main__":
    main()
