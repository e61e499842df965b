"""The log that a node has on its disk, and the comparison of the logs of all nodes byte by byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from raft.records.batch import read_records
from raft.records.batches import read_batches
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME
from raft.types import Batch, OffsetAndEpoch
from tests.node.harness.properties import TOPIC
from tests.workload.history import LoggedValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """One node's log, read from its files.

    Fields:
        batches: the whole log.
        torn_bytes: bytes after the last complete batch.
        epochs: the content of leader-epoch-checkpoint.
    """

    batches: tuple[Batch, ...]
    torn_bytes: int
    epochs: str

    @classmethod
    def read(cls, log_dir: Path) -> Replica:
        """Read the files of a node that does not run."""
        folder = log_dir / f"{TOPIC}-0"
        content = b"".join(segment.read_bytes() for segment in sorted(folder.glob("*.log")))
        batches = tuple(read_batches(content))
        return cls(
            batches=batches,
            torn_bytes=len(content) - sum(batch.header.size_bytes for batch in batches),
            epochs=(folder / EPOCH_CHECKPOINT_NAME).read_text(),
        )

    def records(self) -> list[LoggedValue]:
        """Return its data records, in order."""
        return [
            (record.offset, record.value or b"")
            for batch in self.batches
            if not batch.header.is_control
            for record in read_records(batch.payload)
        ]

    @property
    def end(self) -> OffsetAndEpoch:
        """Its log end offset and last epoch; ends are ordered as elections compare them."""
        header = self.batches[-1].header
        return OffsetAndEpoch(epoch=header.epoch, offset=header.end_offset)

    @property
    def leader_changes(self) -> int:
        """How many leaders wrote to it after the first one."""
        return len({batch.header.epoch for batch in self.batches}) - 1


def differences(replicas: Mapping[int, Replica]) -> Iterator[str]:
    """Yield a sentence for each difference between a replica and the first one."""
    (first_id, first), *others = replicas.items()
    for node_id, replica in replicas.items():
        if replica.torn_bytes:
            yield f"the log of node {node_id} ends with {replica.torn_bytes} bytes that are no batch"
    for node_id, replica in others:
        for ours, theirs in zip_longest(first.batches, replica.batches):
            if ours != theirs:
                yield f"node {first_id} has {_name(ours)} where node {node_id} has {_name(theirs)}"
                break
        if first.epochs != replica.epochs:
            yield f"the epochs of node {first_id} are {first.epochs!r}, those of node {node_id} {replica.epochs!r}"


def _name(batch: Batch | None) -> str:
    return "nothing" if batch is None else str(batch.header)
