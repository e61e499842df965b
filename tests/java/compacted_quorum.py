"""A quorum of ours that makes snapshots and cuts its log, and what has to be left of it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from raft.client import Client
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.types import Offset
from tests.hang import HANG_S
from tests.node.harness.properties import Properties, quorum_properties
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum

_SNAPSHOT_BYTES, _RETENTION_BYTES, _DIRTY_RATIO = 20_000, 30_000, 0.1

SMALL_SNAPSHOTS = {
    "metadata.log.max.record.bytes.between.snapshots": str(_SNAPSHOT_BYTES),
    "metadata.max.retention.bytes": str(_RETENTION_BYTES),
    "min.cleanable.dirty.ratio": str(_DIRTY_RATIO),
}
"""A snapshot after each 20 KB, and a log that begins later when it is larger than 30 KB."""

KEYS = 40
LARGE_STATE_KEYS = 1500
_LARGE_STATE_STEP = 100


class CompactedQuorum(NodeQuorum):
    """Voters of ours with `cleanup.policy=compact`, and all records that were appended.

    Args:
        folder: see `NodeQuorum`.
        settings: further keys of the configurations.
        configurations: of the nodes; three voters with Kafka's timeouts if None.

    Attributes:
        written: every record that was appended, by its offset.
    """

    def __init__(
        self,
        folder: Path,
        settings: Mapping[str, str] | None = None,
        configurations: Mapping[int, Properties] | None = None,
    ) -> None:
        chosen = {"cleanup.policy": "compact", **SMALL_SNAPSHOTS, **(settings or {})}
        super().__init__(folder, configurations or quorum_properties(folder, 3, chosen))
        self.written: dict[Offset, Record] = {}
        self._rounds = 0

    def write_rounds(self, client: Client, rounds: int) -> None:
        """Write most keys once in each round; in each, some are deleted, and a few are never written again."""
        for _ in range(rounds):
            at = self._rounds
            self._rounds += 1
            self.write(client, _round(at))

    def write_large_state(self, client: Client) -> None:
        """Write so many keys that the state does not fit into one batch; the rounds do not write them again."""
        for first in range(0, LARGE_STATE_KEYS, _LARGE_STATE_STEP):
            self.write(client, large_state(range(first, first + _LARGE_STATE_STEP)))

    def write(self, client: Client, records: Iterable[Record]) -> None:
        """Append a batch."""
        records = list(records)
        base = client.append(build_batch(records)).base_offset
        for delta, record in enumerate(records):
            offset = Offset(base + delta)
            self.written[offset] = replace(record, offset=offset)

    def write_until_cut(self, client: Client, beyond: Offset = Offset(0)) -> Offset:
        """Write until the leader has cut its log behind an offset; return where its log begins."""

        def look() -> Offset | None:
            self.write_rounds(client, 2)
            start = self.log_start(self.leader_id())
            return start if start > beyond else None

        return eventually(look, f"the leader's log begins behind {beyond}", within_s=HANG_S, every_s=0.1)

    def log_start(self, node_id: int) -> Offset:
        """Return where a node's log begins."""
        return Offset(int(self.nodes[node_id].segments()[0].stem))

    def checkpoints(self, node_id: int) -> list[Path]:
        """Return the whole snapshots of a node, in order."""
        return sorted(self.nodes[node_id].partition.glob("*.checkpoint"))

    def wait_until_quiet(self) -> Offset:
        """Wait until each node has all records and has cut its log, and none will do so again; return where the log of
        the leader begins.

        No client may append meanwhile.
        """
        eventually(
            lambda: all(self._is_quiet(node_id) for node_id in self.running),
            "no node makes a snapshot or cuts its log",
            within_s=HANG_S,
            every_s=0.1,
        )
        return self.log_start(self.leader_id())

    def _is_quiet(self, node_id: int) -> bool:
        """Return whether a node has nothing left to do; see `SnapshotKeeper`."""
        segments = self.nodes[node_id].segments()
        sizes = {Offset(int(segment.stem)): segment.stat().st_size for segment in segments}
        snapshots = {Offset(int(path.stem.split("-")[0])): path.stat().st_size for path in self.checkpoints(node_id)}
        newest = max(snapshots, default=None)
        # Where the last segment begins, a snapshot ends, or will end.
        if newest is None or newest != max(sizes):
            return False
        last = list(read_batches(segments[-1].read_bytes()))
        end = last[-1].header.end_offset if last else max(sizes)
        has_all = end > max(self.written)
        new_bytes, state_bytes = sizes[newest], snapshots[newest]
        is_due = new_bytes >= _SNAPSHOT_BYTES and new_bytes >= _DIRTY_RATIO * (new_bytes + state_bytes)
        is_large = sum(sizes.values()) + sum(snapshots.values()) > _RETENTION_BYTES
        return has_all and not is_due and (min(sizes) == newest or not is_large) and min(sizes) > 0

    def expected(self, log_start: Offset) -> list[Record]:
        """Return the records of a log that begins there: below it, the newest record of each key."""
        newest = {record.key: offset for offset, record in sorted(self.written.items()) if offset < log_start}
        return [
            record
            for offset, record in sorted(self.written.items())
            if offset >= log_start or newest[record.key] == offset
        ]


def large_state(numbers: Iterable[int]) -> list[Record]:
    """Return records of some keys of the large state."""
    stamp = time.time_ns() // 1_000_000
    return [
        Record(key=b"state-%04d" % at, value=b"%d at %d, " % (at, stamp) * 10, timestamp_ms=stamp) for at in numbers
    ]


def _round(at: int) -> list[Record]:
    stamp = time.time_ns() // 1_000_000
    records = [
        Record(
            key=b"key-%03d" % number,
            value=None if number == at % KEYS else b"%d of round %d, " % (number, at) * 3,
            headers=(("round", b"%d" % at),) if number % 4 == 0 else (),
            timestamp_ms=stamp + number,
        )
        for number in range(KEYS)
    ]
    # This key stays where it was written first.
    return [*records, Record(key=b"once-%d" % at, value=b"for ever", timestamp_ms=stamp)] if at % 3 == 0 else records
