"""Logs in the notation of scenarios, and how they are written to the disks of stopped nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch, ElectionState, Epoch, Offset, ReplicaKey
from tests.scenarios.harness.arguments import epoch_and_offset, whole_number
from tests.scenarios.harness.errors import ScenarioError
from tests.simulation.machine import Machine

_BATCH_BYTES = 100


def written_log(notation: str) -> list[Batch]:
    """Read `1@0,3@10..15`: epoch 1 from offset 0, epoch 3 from 10, the log ends at 15. Each record is its own batch.

    Raises:
        ScenarioError: the notation is wrong, or an epoch or offset does not rise.
    """
    epochs, _, end = notation.partition("..")
    starts = [epoch_and_offset(word) for word in epochs.split(",")]
    ends = [*(start for _, start in starts[1:]), Offset(whole_number(end))]
    if starts[0][1] != 0 or any(not (one[0] < two[0] and one[1] < two[1]) for one, two in pairwise(starts)):
        raise ScenarioError(f"`{notation}`: a log begins at offset 0, its epochs and offsets rise")
    return [
        _batch(1, Offset(offset), epoch)
        for (epoch, start), stop in zip(starts, ends, strict=True)
        for offset in range(start, stop)
    ]


def data_batch(record_count: int) -> bytes:
    """Return a batch as a client sends it, without offset and epoch."""
    return _batch(record_count, Offset(0), Epoch(0)).payload


def write_disk(machine: Machine, state: ElectionState | None, batches: Sequence[Batch] | None) -> None:
    """Write an election state and a log to the disk of a stopped machine, and flush them.

    Args:
        machine: the machine.
        state: the election state; None to keep the present one.
        batches: the whole log; None to keep the present one.
    """
    directory = machine.open_by_hand()
    try:
        if state is not None:
            voted_key = state.voted_key
            if voted_key is not None and voted_key.node_id == machine.node_id:
                voted_key = ReplicaKey(machine.node_id, directory.directory_id)
            directory.store_election_state(replace(state, voted_key=voted_key))
        if batches is not None:
            directory.log.truncate(Offset(0))
            directory.log.append(batches)
            directory.log.flush()
            directory.write_checkpoints()
        machine.written.adopt(directory.log)
    finally:
        directory.close()
    machine.tamper()


def _batch(record_count: int, base_offset: Offset, epoch: Epoch) -> Batch:
    def payload_of(value_bytes: int) -> bytes:
        records = [Record(value=bytes(value_bytes)), *[Record(value=b"")] * (record_count - 1)]
        return build_batch(records, base_offset=base_offset, epoch=epoch)

    payload = payload_of(max(_BATCH_BYTES - len(payload_of(0)), 0))
    return Batch(header=read_header(payload), payload=payload)
