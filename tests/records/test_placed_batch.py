"""A batch that is placed at another offset keeps everything else."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace

from raft.types import Batch, BatchHeader, Epoch, LoggedVoters, Offset, WriteCommit, WritePart

HEADER = BatchHeader(
    base_offset=Offset(3),
    last_offset=Offset(5),
    epoch=Epoch(2),
    size_bytes=90,
    record_count=3,
    max_timestamp_ms=7,
    producer_id=8,
    producer_epoch=9,
    base_sequence=10,
    is_transactional=True,
    control_types=(1000,),
    control_value=WriteCommit(parts=(WritePart(producer_id=1, record_count=2, content_checksum=3),)),
    logged_voters=LoggedVoters(),
    content_checksum=11,
)
"""Every field differs from its default."""


def test_only_offsets_and_epoch_change() -> None:
    assert all(getattr(HEADER, each.name) != each.default for each in fields(HEADER) if each.default is not MISSING)

    placed = Batch(header=HEADER, payload=b"bytes").placed(Offset(100), Epoch(6))

    header = replace(HEADER, base_offset=Offset(100), last_offset=Offset(102), epoch=Epoch(6))
    assert placed == Batch(header=header, payload=b"bytes")
