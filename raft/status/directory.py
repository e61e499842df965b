"""What the files in a node's directory say. They are read only, and the lock is not taken, so the node may run."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from raft.config import NodeConfig
from raft.errors import CorruptBatchError, DecodeError, RaftError
from raft.records.header_fields import HEADER, read_fields
from raft.storage.disk import DiskFiles
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.index import OFFSET_ENTRY
from raft.storage.meta_properties import read_meta_properties
from raft.types import ElectionState, Offset

Found = TypeVar("Found")

_SEGMENT = re.compile(r"(\d{20})\.log")
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotFile:
    """A whole snapshot: its name, end offset and epoch, size, and the time since it was made."""

    name: str
    end_offset: int
    epoch: int
    size_bytes: int
    age_ms: int


@dataclass(slots=True, kw_only=True)
class DirectoryStatus:
    """What the directory of a node holds. None stands for what is unknown, because a file is missing or damaged.

    Fields:
        cluster_id, directory_id: in meta.properties.
        election_state: in quorum-state.
        kraft_version: of the format of quorum-state.
        log_start_offset, log_end_offset: of the segments.
        high_watermark: of the checkpoint: a lower bound, written at most every second.
        log_bytes: size of the segments.
        snapshot: the newest one.
        free_bytes: of the file system.
        problems: what is missing or damaged, one sentence each.
    """

    cluster_id: str | None = None
    directory_id: str | None = None
    election_state: ElectionState | None = None
    kraft_version: int | None = None
    log_start_offset: int | None = None
    log_end_offset: int | None = None
    high_watermark: int | None = None
    log_bytes: int | None = None
    snapshot: SnapshotFile | None = None
    free_bytes: int | None = None
    problems: list[str] = field(default_factory=list)


def directory_status(config: NodeConfig) -> DirectoryStatus:
    """Read the directory of a node."""
    status = DirectoryStatus()
    files = DiskFiles(config.log_dir)

    def read(function: Callable[[], Found]) -> Found | None:
        try:
            return function()
        except (RaftError, OSError) as error:
            status.problems.append(str(error))
            return None

    if not read(config.log_dir.is_dir):
        status.problems.append(f"log.dirs={config.log_dir} is not a directory: the node has never run here")
        return status
    status.free_bytes = read(files.free_bytes)
    owner = read(lambda: read_meta_properties(files))
    if owner is not None:
        status.cluster_id, status.directory_id = owner.get("cluster.id"), owner.get("directory.id")
        if owner and owner.get("node.id") != str(config.node_id):
            found = owner.get("node.id")
            status.problems.append(f"{files.path_of('meta.properties')} has node.id={found}, expected {config.node_id}")
    partition = f"{config.topic_name}-0"
    folder = config.log_dir / partition
    if not read(folder.is_dir):
        status.problems.append(f"{folder} does not exist: the directory has no log of topic {config.topic_name}")
        return status
    state_name = f"{partition}/{ELECTION_STATE_NAME}"
    if files.exists(state_name):
        status.election_state = read(ElectionStateFile(files, state_name).read)
    if status.election_state is not None:
        status.kraft_version = json.loads(files.read(state_name))["data_version"]
    checkpoint = f"{partition}/{HIGH_WATERMARK_NAME}"
    found_checkpoint = read(
        lambda: HighWatermarkCheckpoint(files, checkpoint, topic=config.topic_name, partition=0).offset
    )
    status.high_watermark = found_checkpoint
    read(lambda: _read_log(folder, status))
    return status


def _read_log(folder: Path, status: DirectoryStatus) -> None:
    segments: dict[int, Path] = {}
    log_bytes = 0
    for entry in os.scandir(folder):
        if segment := _SEGMENT.fullmatch(entry.name):
            segments[int(segment[1])] = Path(entry.path)
            log_bytes += entry.stat().st_size
        elif snapshot := _SNAPSHOT.fullmatch(entry.name):
            end_offset, found = int(snapshot[1]), entry.stat()
            if end_offset and (status.snapshot is None or status.snapshot.end_offset < end_offset):
                status.snapshot = SnapshotFile(
                    name=entry.name,
                    end_offset=end_offset,
                    epoch=int(snapshot[2]),
                    size_bytes=found.st_size,
                    age_ms=max(int((time.time() - found.st_mtime) * 1000), 0),
                )
    status.log_bytes = log_bytes
    if segments:
        status.log_start_offset = min(segments)
        status.log_end_offset = _end_of_segment(segments[max(segments)], Offset(max(segments)))


def _end_of_segment(path: Path, base_offset: Offset) -> Offset:
    """Return the end offset of a segment, by the headers of the batches after the last entry of its index.

    Raises:
        CorruptBatchError: a batch is damaged; names file and byte. The last one may be incomplete.
    """
    end_offset, position = base_offset, _last_indexed(path.with_suffix(".index"))
    with path.open("rb") as segment:
        size_bytes = segment.seek(0, os.SEEK_END)
        if position > size_bytes:
            position = 0
        while position + HEADER.size <= size_bytes:
            segment.seek(position)
            try:
                header = read_fields(segment.read(HEADER.size))
            except DecodeError as error:
                raise CorruptBatchError(f"{path} is damaged at byte {position}: {error}") from error
            position += header.size_bytes
            if position <= size_bytes:
                end_offset = header.end_offset
    return end_offset


def _last_indexed(path: Path) -> int:
    """Return the position in the last entry of an offset index; 0 if there is none."""
    try:
        content = path.read_bytes()
    except OSError:
        return 0
    whole_bytes = len(content) // OFFSET_ENTRY.size * OFFSET_ENTRY.size
    if not whole_bytes:
        return 0
    _relative_offset, position = OFFSET_ENTRY.unpack_from(content, whole_bytes - OFFSET_ENTRY.size)
    return max(int(position), 0)
