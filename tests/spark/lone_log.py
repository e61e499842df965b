"""The log of a quorum of one voter, which can lose records while Spark reads it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from pyspark.sql import SparkSession

from raft.local import LocalQuorum
from raft.local.ports import free_ports
from raft.records.batch import build_batch
from raft.records.record import Record
from raft.types import Offset, OffsetAndEpoch
from tests.spark.frames import Frames
from tests.spark.quorums import handed_over
from tests.storage.logs import snapshot_bytes


class LoneLog:
    """The log of a voter that listens at the same address after each loss, and keeps its credentials.

    Args:
        spark: session of the application that has the credentials.
        data_dir: of the quorum; created if it does not exist.
    """

    def __init__(self, spark: SparkSession, data_dir: Path) -> None:
        self._spark = spark
        self._data_dir = data_dir
        self._exits = ExitStack()
        (self._port,) = free_ports(1, in_a_row=2)

    def __enter__(self) -> Self:
        self._start()
        self._exits.callback(self.stop)
        self._exits.enter_context(handed_over(self._spark, self._quorum))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def frames(self) -> Frames:
        """Return DataFrames of the log."""
        return Frames.of(self._spark, self._quorum)

    def append(self, values: Iterable[str], *, timestamp_ms: int | None = None) -> Offset:
        """Append each value as a record batch, one after another; return the offset of the first one.

        A query that runs meanwhile may read some of them in one micro-batch and the others in the next.

        Args:
            values: one or more.
            timestamp_ms: of each record; None for now.
        """
        with self._quorum.client() as client:
            offsets = [client.append(_record_batch([value], timestamp_ms)).base_offset for value in values]
        return offsets[0]

    def append_together(self, values: Iterable[str], *, timestamp_ms: int | None = None) -> Offset:
        """Append all values as one record batch, which a query finds whole; return the offset of the first one.

        Args:
            values: one or more.
            timestamp_ms: of each record; None for now.
        """
        with self._quorum.client() as client:
            return client.append(_record_batch(values, timestamp_ms)).base_offset

    def replace_last(self, record: Record) -> None:
        """Write another record over the last one, in the file: no leader would append it.

        Args:
            record: has no key and headers, and a value of the same size.
        """
        with self._quorum.client() as client:
            base_offset, epoch = Offset(client.last_stable_offset() - 1), client.epoch
        self._quorum.stop()
        batch = build_batch([record], base_offset=base_offset, epoch=epoch)
        (segment,) = self._partition.glob("*.log")
        segment.write_bytes(segment.read_bytes()[: -len(batch)] + batch)
        self._start()

    def age_out(self) -> None:
        """Remove all records. Offsets continue, as after a snapshot of an Apache Kafka controller."""
        with self._quorum.client() as client:
            end, epoch = client.last_stable_offset(), client.epoch
        self._quorum.stop()
        # A voter that finds this file removes the log before that offset: the snapshot has replaced it.
        snapshot = snapshot_bytes(OffsetAndEpoch(offset=end, epoch=epoch))
        (self._partition / f"{end:020d}-{epoch:010d}.checkpoint.installing").write_bytes(snapshot)
        self._start()

    def recreate(self) -> None:
        """Remove the log. Offsets and epochs start again; the cluster id stays."""
        self._quorum.stop()
        shutil.rmtree(self._partition)
        self._start()

    def stop(self) -> None:
        """Stop the voter."""
        self._quorum.stop()

    def restart(self) -> None:
        """Restart the voter, which begins another epoch."""
        self._quorum.stop()
        self._start()

    @property
    def _partition(self) -> Path:
        return self._data_dir / "node-1" / "log" / "__cluster_metadata-0"

    def _start(self) -> None:
        settings = {"log.message.timestamp.after.max.ms": (1 << 63) - 1}
        self._quorum = LocalQuorum.start(self._data_dir, voters=1, base_port=self._port, settings=settings)


def _record_batch(values: Iterable[str], timestamp_ms: int | None) -> bytes:
    at_ms = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
    return build_batch([Record(value=value.encode(), timestamp_ms=at_ms) for value in values])
