"""Control batches that name voters and kraft.version."""

from __future__ import annotations

from raft.codec import encode
from raft.records.batch import build_batch
from raft.records.control_key import write_control_key
from raft.records.control_messages import KRaftVersionFeature, Voter, VoterEndpoint, VotersRecord
from raft.records.record import Record
from raft.types import ZERO_UUID, Epoch, Offset

KRAFT_VERSION, VOTERS = 5, 6


def voters_value(*ids: int) -> bytes:
    """The value of a KRAFT_VOTERS record."""
    voters = tuple(
        Voter(
            voter_id=voter,
            voter_directory_id=ZERO_UUID,
            endpoints=(VoterEndpoint(name="CONTROLLER", host=f"node-{voter}", port=9000),),
            kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
        )
        for voter in ids
    )
    return encode(VotersRecord(version=0, voters=voters), 0)


def control_batch(*records: tuple[int, bytes], base_offset: int = 0, epoch: int = 1) -> bytes:
    """A control batch of these types and values."""
    return build_batch(
        [Record(key=write_control_key(kind), value=value) for kind, value in records],
        base_offset=Offset(base_offset),
        epoch=Epoch(epoch),
        is_control=True,
    )
