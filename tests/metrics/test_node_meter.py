"""What a node's meter counts of appends, commits and flushes."""

from __future__ import annotations

import logging

import pytest

from raft.core.effects import AppendBatches
from raft.core.events import TimePassed
from tests.core.builder import a_follower, a_leader
from tests.core.wording import append_of, batch, begin_request, fetch_request, fetch_response
from tests.metrics.metered import TOPIC, Metered

BATCH_BYTES = 100


def test_leader_counts_what_clients_append() -> None:
    metered = Metered(a_leader(epoch=5, high_watermark_known=True))

    metered.node.handle(append_of(records=3), now_ms=10)

    assert metered.sample("kafka_server_brokertopicmetrics_bytesin_total", topic=TOPIC) == BATCH_BYTES
    assert metered.sample("kafka_server_brokertopicmetrics_messagesin_total", topic=TOPIC) == 3
    assert metered.meter.appended_records.rate_per_s(10) == 3 / 30
    assert metered.sample("kraft_records_fetched_total") == 0


def test_follower_counts_what_it_fetches() -> None:
    metered = Metered(a_follower(of=2, epoch=5))

    metered.node.gets(
        fetch_response(epoch=5, leader=2, batches=[batch(10, epoch=5, records=2)], high_watermark=10), of=2
    )

    assert metered.sample("kafka_server_brokertopicmetrics_replicationbytesin_total", topic=TOPIC) == BATCH_BYTES
    assert metered.sample("kraft_records_fetched_total") == 2
    assert metered.sample("kafka_server_brokertopicmetrics_messagesin_total", topic=TOPIC) == 0
    assert metered.meter.fetched_records.rate_per_s(100) == 2 / 30


def test_leader_measures_from_the_append_to_the_commit() -> None:
    metered = Metered(a_leader(epoch=5, high_watermark_known=True))
    metered.node.handle(append_of(), now_ms=100)
    metered.node.has_flushed(now_ms=104)
    assert metered.sample("kraft_commit_latency_seconds_count") == 0

    end_offset = metered.node.core.log.end_offset
    metered.node.receives(fetch_request(by=2, epoch=5, offset=end_offset, last_epoch=5), now_ms=120)

    assert metered.sample("kraft_commit_latency_seconds_count") == 1
    assert metered.sample("kraft_commit_latency_seconds_sum") == pytest.approx(0.02)
    assert metered.meter.commit_ms.maximum(120) == pytest.approx(20)


def test_leader_that_is_replaced_measures_no_commit_of_its_appends() -> None:
    metered = Metered(a_leader(epoch=5, high_watermark_known=True))
    metered.node.handle(append_of(), now_ms=100)

    metered.node.receives(begin_request(epoch=6, leader=2), now_ms=110)
    end_offset = metered.node.core.log.end_offset
    metered.node.has_flushed(now_ms=115)
    metered.node.gets(fetch_response(epoch=6, leader=2, high_watermark=end_offset), of=2, now_ms=120)

    assert metered.node.high_watermark == end_offset
    assert metered.sample("kraft_commit_latency_seconds_count") == 0


def test_flush_is_measured_even_if_it_fails() -> None:
    metered = Metered(a_follower(of=2, epoch=5))

    def flush() -> None:
        metered.now_ms += 7
        raise OSError

    with pytest.raises(OSError, match=r"^$"):
        metered.meter.timing(flush)()

    assert metered.sample("kafka_log_logflushstats_logflushrateandtimems_count") == 1
    assert metered.sample("kafka_log_logflushstats_logflushrateandtimems_sum") == pytest.approx(7)


def test_error_of_the_meter_ends_the_metrics_and_not_the_node(caplog: pytest.LogCaptureFixture) -> None:
    metered = Metered(a_leader(epoch=5))
    core = metered.node.core

    with caplog.at_level(logging.ERROR):
        for _ in range(2):
            metered.meter.handled(TimePassed(), [AppendBatches(batches=())], core)

    assert metered.meter.is_broken
    assert [record.getMessage() for record in caplog.records] == ["node 1: metrics are not updated any more"]
