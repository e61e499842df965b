"""Rows of transactions of Kafka's producers: only committed ones are read, and gaps between them do not matter.

After `read Kafka transactional messages: read_committed` and SPARK-25495 of Spark's suites.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from raft.local import LocalQuorum
from tests.hang import HANG_S
from tests.java.librdkafka import settings_of
from tests.node.harness.properties import TOPIC
from tests.spark.frames import Frames
from tests.spark.streams import Delivered

pytestmark = pytest.mark.spark


class Transactions:
    """Transactions of librdkafka's producer, one after the other."""

    def __init__(self, quorum: LocalQuorum, name: str) -> None:
        credentials = settings_of(quorum.client_properties)
        servers = {"bootstrap.servers": quorum.bootstrap_servers}
        self._producer = Producer({"transactional.id": name, **servers, **credentials})
        self._producer.init_transactions(HANG_S)

    def begin(self, values: range) -> None:
        """Begin a transaction and append its rows."""
        self._producer.begin_transaction()
        for value in values:
            self._producer.produce(TOPIC, value=str(value))
        assert self._producer.flush(HANG_S) == 0

    def commit(self) -> None:
        self._producer.commit_transaction(HANG_S)

    def abort(self) -> None:
        self._producer.abort_transaction(HANG_S)

    def close(self) -> None:
        """End the producer, which would report the end of the quorum otherwise."""
        del self._producer


@pytest.fixture
def transactions(lone_voter: LocalQuorum) -> Iterator[Transactions]:
    transactions = Transactions(lone_voter, "a producer")
    yield transactions
    transactions.close()


def texts(values: range) -> list[str]:
    return [str(value) for value in values]


@pytest.mark.kafka_suite(25)
def test_stream_has_rows_of_committed_transactions_only(
    lone_frames: Frames, transactions: Transactions, tmp_path: Path
) -> None:
    stream = lone_frames.stream(startingOffsets="earliest", maxOffsetsPerTrigger=3)
    delivered = Delivered(stream, tmp_path / "checkpoint")

    def new() -> list[list[str | None]]:
        """Run the query; return the rows of each batch that has any."""
        before = {*delivered.batches}
        delivered.run()
        batches = [delivered.batches[number] for number in sorted({*delivered.batches} - before)]
        return [batch for batch in batches if batch]

    transactions.begin(range(5))
    assert new() == [], "the transaction is open"
    transactions.commit()
    assert new() == [texts(range(3)), texts(range(3, 5))]
    transactions.begin(range(5, 10))
    transactions.abort()
    assert new() == [], "a batch without a row, or none"
    for values in (range(10, 15), range(15, 16), range(16, 18)):
        transactions.begin(values)
        transactions.commit()
    expected = [texts(range(10, 13)), texts(range(13, 16)), texts(range(16, 18))]
    assert new() == expected, "markers are between the rows of a batch"


@pytest.mark.kafka_suite(25)
def test_batch_has_rows_of_committed_transactions_only(lone_frames: Frames, transactions: Transactions) -> None:
    read = lone_frames.read().selectExpr("cast(value as string) value")

    def seen() -> list[str]:
        return [row.value for row in read.collect()]

    transactions.begin(range(5))
    assert seen() == []
    transactions.commit()
    assert seen() == texts(range(5))
    transactions.begin(range(5, 10))
    transactions.abort()
    assert seen() == texts(range(5))
    transactions.begin(range(10, 15))
    transactions.commit()
    assert seen() == [*texts(range(5)), *texts(range(10, 15))]


@pytest.mark.kafka_suite(27)
def test_rows_that_were_appended_before_a_batch_is_read_are_in_the_next_one(
    lone_frames: Frames, transactions: Transactions, tmp_path: Path
) -> None:
    transactions.begin(range(4))
    transactions.commit()

    def append_more(number: int) -> None:
        if number == 0:
            transactions.begin(range(4, 8))
            transactions.commit()

    stream = lone_frames.stream(startingOffsets="earliest")
    delivered = Delivered(stream, tmp_path / "checkpoint", before_batch=append_more)
    query = delivered.start()
    try:
        query.processAllAvailable()
    finally:
        query.stop()

    assert delivered.batches == {0: texts(range(4)), 1: texts(range(4, 8))}
