"""Size and start of the log, its newest snapshot, and the free space of the disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prometheus_client.core import Metric

from raft.core import RaftCore
from raft.metrics.families import gauge, gauges
from raft.storage.directory import ReplicaDirectory

_LOG = "kafka.log:type=Log"
_SNAPSHOT = "kafka.server:type=SnapshotEmitter"


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSize:
    """The newest snapshot: its end, its size, and its age by the time of its file."""

    end_offset: int
    size_bytes: int
    age_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryFigures:
    """What the directory of a replica holds.

    Fields:
        log_bytes: size of all segments.
        segments: how many there are.
        snapshots: how many whole snapshots there are.
        newest: None if there is none.
    """

    log_bytes: int
    segments: int
    snapshots: int
    newest: SnapshotSize | None


def look_at(directory: ReplicaDirectory) -> DirectoryFigures:
    """Look at a directory; runs as a job of the disk.

    Raises:
        OSError, StorageError: the disk reports an error.
    """
    snapshots = directory.snapshots.whole()
    newest = None
    if snapshots:
        end = snapshots[-1]
        size_bytes = directory.snapshots.size_bytes(end)
        changed_s = Path(directory.snapshots.path_of(end)).stat().st_mtime
        newest = SnapshotSize(end_offset=end.offset, size_bytes=size_bytes, age_s=max(0.0, time.time() - changed_s))
    return DirectoryFigures(
        log_bytes=directory.log.size_bytes(),
        segments=len(directory.log.segment_bases),
        snapshots=len(snapshots),
        newest=newest,
    )


def log_families(core: RaftCore, *, topic: str, free_bytes: int | None, reserve_bytes: int) -> Iterator[Metric]:
    """Yield what is known without a look at the directory.

    Args:
        core: of the node.
        topic: its topic.
        free_bytes: of the disk; None before the first measurement.
        reserve_bytes: `raft.reserve.bytes`.
    """
    labels, values = ["topic", "partition"], [topic, "0"]
    yield gauges(
        "kafka_log_log_logstartoffset",
        f"First offset of the log. {_LOG},name=LogStartOffset,topic=,partition=",
        labels,
        [(values, core.log.start_offset)],
    )
    yield gauges(
        "kafka_log_log_logendoffset",
        f"The offset of the next record. {_LOG},name=LogEndOffset,topic=,partition=",
        labels,
        [(values, core.log.end_offset)],
    )
    yield gauge(
        "kraft_last_stable_offset",
        "Records below are committed, and of no open transaction; it is not within a multipart write.",
        core.last_stable_offset,
    )
    yield gauge("kraft_disk_free_bytes", "Free space of the disk of the log.", free_bytes)
    yield gauge("kraft_disk_reserve_bytes", "What is kept free of records: raft.reserve.bytes.", reserve_bytes)
    yield gauge(
        "kraft_disk_full", "1 while no records are appended, because only the reserve is free.", core.is_disk_full
    )


def directory_families(found: DirectoryFigures | None, topic: str) -> Iterator[Metric]:
    """Yield what a look at the directory has found; without samples if the disk did not respond in time."""
    labels, values = ["topic", "partition"], [topic, "0"]
    yield gauges(
        "kafka_log_log_size",
        f"Bytes of the log. {_LOG},name=Size,topic=,partition=",
        labels,
        [] if found is None else [(values, found.log_bytes)],
    )
    yield gauges(
        "kafka_log_log_numlogsegments",
        f"Segments of the log. {_LOG},name=NumLogSegments,topic=,partition=",
        labels,
        [] if found is None else [(values, found.segments)],
    )
    newest = None if found is None else found.newest
    yield gauge(
        "kafka_server_snapshotemitter_latestsnapshotgeneratedbytes",
        f"Bytes of the newest snapshot. {_SNAPSHOT},name=LatestSnapshotGeneratedBytes",
        None if newest is None else newest.size_bytes,
    )
    yield gauge(
        "kafka_server_snapshotemitter_latestsnapshotgeneratedagems",
        f"Milliseconds since the newest snapshot was written. {_SNAPSHOT},name=LatestSnapshotGeneratedAgeMs",
        None if newest is None else int(newest.age_s * 1000),
    )
    yield gauge(
        "kraft_snapshot_end_offset", "End of the newest snapshot.", None if newest is None else newest.end_offset
    )
    yield gauge("kraft_snapshots", "Whole snapshots on the disk.", None if found is None else found.snapshots)
