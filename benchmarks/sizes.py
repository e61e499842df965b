"""How much is measured: in a full run for figures, or in a short one to check that everything runs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """Sizes of all works.

    Fields:
        warm_up: whether there is a round before those that count.
        spark_rounds: rounds of backfill, stream and sink.
        latency_rounds, latency_samples: rounds, and appends in each.
        append_rounds, appends: rounds, and appends in each, by number of clients.
        failover_rounds: rounds of both faults.
        settle_s: pause after a fault, before the next one.
        bulk_rounds, bulk_bytes: rounds, and bytes of values in each.
        bulk_value_bytes: sizes of the values.
        library_rows: records that a Python program appends and reads one by one.
        raft_server_warm_up_s, raft_server_s: how long TestRaftServer writes before it is measured, and meanwhile.
        backfill_rows: rows of the backfill.
        view_rows, view_keys: rows of the view, and their keys.
        stream_batches, stream_batch_rows: micro-batches of the stream, and rows of each.
        sink_batches, sink_first_batches, sink_batch_rows: micro-batches of the sink that count, those before them that
            do not, and rows of each.
        write_rows, small_writes: rows of the large batch write, and number of small ones.
    """

    warm_up: bool
    spark_rounds: int
    latency_rounds: int
    latency_samples: int
    append_rounds: int
    appends: dict[int, int]
    failover_rounds: int
    settle_s: float
    bulk_rounds: int
    bulk_bytes: int
    bulk_value_bytes: tuple[int, ...]
    library_rows: int
    raft_server_warm_up_s: float
    raft_server_s: float
    backfill_rows: int
    view_rows: int
    view_keys: int
    stream_batches: int
    stream_batch_rows: int
    sink_batches: int
    sink_first_batches: int
    sink_batch_rows: int
    write_rows: int
    small_writes: int


FULL = Sizes(
    warm_up=True,
    spark_rounds=5,
    latency_rounds=3,
    latency_samples=40,
    append_rounds=5,
    appends={1: 2_500, 64: 16_000, 256: 24_000},
    failover_rounds=8,
    settle_s=3.0,
    bulk_rounds=3,
    bulk_bytes=100_000_000,
    bulk_value_bytes=(100, 1_000),
    library_rows=200_000,
    raft_server_warm_up_s=5.0,
    raft_server_s=6.0,
    backfill_rows=2_500_000,
    view_rows=2_000_000,
    view_keys=100_000,
    stream_batches=10,
    stream_batch_rows=250_000,
    sink_batches=12,
    sink_first_batches=3,
    sink_batch_rows=50_000,
    write_rows=1_000_000,
    small_writes=10,
)

SHORT = Sizes(
    warm_up=False,
    spark_rounds=1,
    latency_rounds=1,
    latency_samples=3,
    append_rounds=1,
    appends={1: 20, 64: 128, 256: 512},
    failover_rounds=1,
    settle_s=0.0,
    bulk_rounds=1,
    bulk_bytes=1_000_000,
    bulk_value_bytes=(1_000,),
    library_rows=2_000,
    raft_server_warm_up_s=0.5,
    raft_server_s=1.0,
    backfill_rows=20_000,
    view_rows=20_000,
    view_keys=1_000,
    stream_batches=2,
    stream_batch_rows=10_000,
    sink_batches=2,
    sink_first_batches=1,
    sink_batch_rows=1_000,
    write_rows=20_000,
    small_writes=2,
)
