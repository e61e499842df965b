"""Prometheus metrics of the running queries. They are made when they are scraped, so a query that ended has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric, SummaryMetricFamily
from prometheus_client.registry import Collector

from kraft_spark.monitoring.monitored_query import MonitoredQuery, Phase
from kraft_spark.monitoring.progress_row import ProgressRow
from kraft_spark.monitoring.query_table import QueryOutcome, QueryTable

_OF_QUERY = ("query_name", "query_id")
_OF_SOURCE = (*_OF_QUERY, "source")

_QueryValue = Callable[[MonitoredQuery], float | None]
_SourceValue = Callable[[ProgressRow], float | None]


class QueryCollector(Collector):
    """Makes the metrics of a table of queries.

    Args:
        table: of a monitor.
    """

    def __init__(self, table: QueryTable) -> None:
        self._table = table

    def describe(self) -> Iterable[Metric]:
        """Return all metrics without samples: by their names a registry finds a second collector of the same."""
        return _metrics([], {})

    def collect(self) -> Iterable[Metric]:
        """Return all metrics with their samples."""
        with self._table.reading() as (queries, outcomes):
            return _metrics(queries, outcomes)


def _metrics(queries: Sequence[MonitoredQuery], outcomes: Mapping[QueryOutcome, int]) -> list[Metric]:
    return [
        *(_query_gauge(name, text, value, queries) for name, text, value in _QUERY_GAUGES),
        *(_query_counter(name, text, value, queries) for name, text, value in _QUERY_COUNTERS),
        *(_source_gauge(name, text, value, queries) for name, text, value in _SOURCE_GAUGES),
        _leader_changes(queries),
        _durations(queries),
        _outcomes(outcomes),
    ]


def _rate(value: _SourceValue) -> _QueryValue:
    """Return a rate of the last micro-batch; 0 while the query has nothing new to read."""

    def rate(query: MonitoredQuery) -> float | None:
        found = value(query.last_rows[0]) if query.last_rows else None
        return 0.0 if query.is_idle and found is not None else found

    return rate


_QUERY_GAUGES: tuple[tuple[str, str, _QueryValue], ...] = (
    (
        "kraft_query_last_seen_timestamp_seconds",
        "When Spark last reported a start, a micro-batch or an idle trigger of the query.",
        lambda query: query.last_seen_s,
    ),
    (
        "kraft_query_input_rows_per_second",
        "Rows of the last micro-batch by the time since the trigger before.",
        _rate(lambda row: row.input_rows_per_second),
    ),
    (
        "kraft_query_processed_rows_per_second",
        "Rows of the last micro-batch by its time.",
        _rate(lambda row: row.processed_rows_per_second),
    ),
    (
        "kraft_query_processed_bytes_per_second",
        "Observed bytes of keys and values of the last micro-batch by its time.",
        _rate(lambda row: row.processed_bytes_per_second),
    ),
)
_QUERY_COUNTERS: tuple[tuple[str, str, _QueryValue], ...] = (
    ("kraft_query_input_rows", "Rows that the query has read.", lambda query: query.total_rows),
    (
        "kraft_query_observed_bytes",
        "Bytes of keys and values that the query has read.",
        lambda query: query.total_bytes,
    ),
)
_SOURCE_GAUGES: tuple[tuple[str, str, _SourceValue], ...] = (
    (
        "kraft_query_lag_offsets",
        "Offsets between the end of the last micro-batch and the end of the log when it was planned.",
        lambda row: row.lag_offsets,
    ),
    ("kraft_query_end_offset", "The end of the last micro-batch.", lambda row: row.end_offset),
    ("kraft_query_leader_epoch", "The highest leader epoch that the query has seen.", lambda row: row.epoch),
)


def _query_gauge(name: str, text: str, value: _QueryValue, queries: Iterable[MonitoredQuery]) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=_OF_QUERY)
    for query in queries:
        if (number := value(query)) is not None:
            gauge.add_metric(_labels(query), number)
    return gauge


def _query_counter(name: str, text: str, value: _QueryValue, queries: Iterable[MonitoredQuery]) -> Metric:
    counter = CounterMetricFamily(name, text, labels=_OF_QUERY)
    for query in queries:
        if (number := value(query)) is not None:
            counter.add_metric(_labels(query), number)
    return counter


def _source_gauge(name: str, text: str, value: _SourceValue, queries: Iterable[MonitoredQuery]) -> Metric:
    gauge = GaugeMetricFamily(name, text, labels=_OF_SOURCE)
    for query in queries:
        for row in query.last_rows:
            if row.source is not None and (number := value(row)) is not None:
                gauge.add_metric([*_labels(query), str(row.source)], number)
    return gauge


def _leader_changes(queries: Iterable[MonitoredQuery]) -> Metric:
    counter = CounterMetricFamily(
        "kraft_query_leader_changes", "How often the leader epoch rose since the query was started.", labels=_OF_SOURCE
    )
    for query in queries:
        for source, changes in query.leader_changes.items():
            counter.add_metric([*_labels(query), str(source)], changes)
    return counter


def _durations(queries: Iterable[MonitoredQuery]) -> Metric:
    summary = SummaryMetricFamily(
        "kraft_query_duration_seconds", "Time of micro-batches, by phase.", labels=(*_OF_QUERY, "phase")
    )
    for query in queries:
        for phase in Phase:
            sum_s = query.duration_sums_ms[phase] / 1000
            summary.add_metric([*_labels(query), phase.value], count_value=query.batches, sum_value=sum_s)
    return summary


def _outcomes(outcomes: Mapping[QueryOutcome, int]) -> Metric:
    counter = CounterMetricFamily("kraft_queries_terminated", "Queries that have ended.", labels=("outcome",))
    for outcome, count in outcomes.items():
        counter.add_metric([outcome.value], count)
    return counter


def _labels(query: MonitoredQuery) -> list[str]:
    return [query.name or "", query.query_id]
