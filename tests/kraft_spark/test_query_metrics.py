"""The Prometheus metrics of a monitor."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kraft_spark import QueryMonitor
from tests.kraft_spark.query_events import RATE_SOURCE, QueryEvents, kraft_source

SEEN_S = 1_800_000_000.5


def registered(monitor: QueryMonitor) -> CollectorRegistry:
    registry = CollectorRegistry()
    monitor.register_metrics(registry)
    return registry


def scraped(registry: CollectorRegistry) -> dict[str, float]:
    """Parse what a scrape returns, without the ids of queries, which are random."""
    samples: dict[str, float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for name, labels, value, *_ in family.samples:
            shown = ",".join(f"{key}={text}" for key, text in sorted(labels.items()) if key != "query_id")
            assert f"{name}{{{shown}}}" not in samples, "one sample for each set of labels"
            samples[f"{name}{{{shown}}}"] = value
    return samples


def test_metrics_have_the_last_values_and_the_totals_of_a_query() -> None:
    monitor, query = QueryMonitor(now_s=lambda: SEEN_S), QueryEvents()
    registry = registered(monitor)
    monitor.onQueryStarted(query.started())
    monitor.onQueryProgress(query.progress(kraft_source(10, 90, epoch=1), observed={"kraft_bytes": {"bytes": 100}}))

    monitor.onQueryProgress(query.progress(kraft_source(30, 90, epoch=2), observed={"kraft_bytes": {"bytes": 50}}))

    named = "query_name=orders"
    assert scraped(registry) == {
        f"kraft_query_last_seen_timestamp_seconds{{{named}}}": SEEN_S,
        f"kraft_query_input_rows_per_second{{{named}}}": 5.0,
        f"kraft_query_processed_rows_per_second{{{named}}}": 20.0,
        f"kraft_query_processed_bytes_per_second{{{named}}}": 100.0,
        f"kraft_query_input_rows_total{{{named}}}": 20,
        f"kraft_query_observed_bytes_total{{{named}}}": 150,
        f"kraft_query_lag_offsets{{{named},source=0}}": 60,
        f"kraft_query_end_offset{{{named},source=0}}": 30,
        f"kraft_query_leader_epoch{{{named},source=0}}": 2,
        f"kraft_query_leader_changes_total{{{named},source=0}}": 1,
        **{f"kraft_query_duration_seconds_count{{phase={phase},{named}}}": 2 for phase in PHASES},
        **{f"kraft_query_duration_seconds_sum{{phase={phase},{named}}}": total for phase, total in PHASES.items()},
        "kraft_queries_terminated_total{outcome=stopped}": 0,
        "kraft_queries_terminated_total{outcome=failed}": 0,
    }


PHASES = {"trigger": 1.0, "latest_offset": 0.014, "add_batch": 0.6, "commit": 0.2}


def test_metrics_leave_out_what_is_unknown() -> None:
    monitor = QueryMonitor()
    registry = registered(monitor)
    fresh, other, unreported = (QueryEvents(name=name) for name in ("fresh", "other", "unreported"))

    monitor.onQueryStarted(fresh.started())
    monitor.onQueryProgress(other.progress(RATE_SOURCE))
    monitor.onQueryProgress(unreported.progress(kraft_source(5, None)))

    found = scraped(registry)
    assert {name for name in found if "=fresh" in name and "duration" not in name} == {
        "kraft_query_last_seen_timestamp_seconds{query_name=fresh}",
        "kraft_query_input_rows_total{query_name=fresh}",
    }
    assert not [name for name in found if "=other" in name and "source=" in name]
    assert "kraft_query_end_offset{query_name=unreported,source=0}" in found
    assert "kraft_query_lag_offsets{query_name=unreported,source=0}" not in found


def test_rates_are_zero_while_a_query_is_idle() -> None:
    clock = iter([1.0, 2.0, 3.0])
    monitor, query = QueryMonitor(now_s=lambda: next(clock)), QueryEvents(name=None)
    registry = registered(monitor)
    monitor.onQueryProgress(query.progress())

    monitor.onQueryIdle(query.idle())
    idle = scraped(registry)
    monitor.onQueryProgress(query.progress())
    busy = scraped(registry)

    assert idle["kraft_query_processed_rows_per_second{query_name=}"] == 0.0
    assert idle["kraft_query_last_seen_timestamp_seconds{query_name=}"] == 2.0
    assert busy["kraft_query_processed_rows_per_second{query_name=}"] == 20.0


def test_series_of_a_query_are_removed_when_it_ends() -> None:
    monitor, stopped, failed = QueryMonitor(), QueryEvents(name="stopped"), QueryEvents(name="failed")
    registry = registered(monitor)
    for query in (stopped, failed):
        monitor.onQueryStarted(query.started())
        monitor.onQueryProgress(query.progress())
    assert "kraft_query_lag_offsets{query_name=failed,source=0}" in scraped(registry)

    monitor.onQueryTerminated(stopped.terminated())
    monitor.onQueryTerminated(failed.terminated("an error"))

    assert scraped(registry) == {
        "kraft_queries_terminated_total{outcome=stopped}": 1,
        "kraft_queries_terminated_total{outcome=failed}": 1,
    }


def test_restarted_query_replaces_its_former_run_if_the_end_of_that_comes_later() -> None:
    monitor, first = QueryMonitor(), QueryEvents()
    second = QueryEvents(query_id=first.query_id)
    registry = registered(monitor)
    monitor.onQueryStarted(first.started())
    monitor.onQueryProgress(first.progress(kraft_source(10, 20)))

    monitor.onQueryStarted(second.started())
    monitor.onQueryProgress(second.progress(kraft_source(15, 20)))
    monitor.onQueryTerminated(first.terminated())

    assert scraped(registry)["kraft_query_lag_offsets{query_name=orders,source=0}"] == 5


def test_registry_refuses_the_metrics_of_a_second_monitor() -> None:
    registry = registered(QueryMonitor())

    with pytest.raises(ValueError, match="Duplicated timeseries"):
        QueryMonitor().register_metrics(registry)
