"""Voters and kraft.version in control batches: what a node with static voters has to know of them (CONTROL-10)."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from raft.codec import decode
from raft.errors import DecodeError
from raft.records.control_messages import KRaftVersionRecord, VotersRecord
from raft.records.record import Record
from raft.types import ControlType, LoggedVoters, NodeId

_VERSION = struct.Struct(">h")


def read_logged_voters(types: Sequence[int], records: Sequence[Record]) -> LoggedVoters | None:
    """Return what the records of a control batch say of voters and kraft.version; None if they say nothing.

    Args:
        types: of the records.
        records: in order.

    Raises:
        DecodeError: such a record is malformed.
    """
    voters: tuple[NodeId, ...] | None = None
    kraft_version: int | None = None
    for control_type, record in zip(types, records, strict=True):
        value = record.value or b""
        # A newer version is read as the newest known version (CONTROL-8): all of these messages have version 0 only.
        if control_type == ControlType.KRAFT_VOTERS:
            _check_version(value)
            voters = tuple(NodeId(voter.voter_id) for voter in decode(VotersRecord, 0, value).voters)
        elif control_type == ControlType.KRAFT_VERSION:
            _check_version(value)
            kraft_version = decode(KRaftVersionRecord, 0, value).kraft_version
    if voters is None and kraft_version is None:
        return None
    return LoggedVoters(voters=voters, kraft_version=kraft_version)


def _check_version(value: bytes) -> None:
    if len(value) < _VERSION.size:
        raise DecodeError(f"control value of {len(value)} bytes")
    (version,) = _VERSION.unpack_from(value)
    if version < 0:
        raise DecodeError(f"control value of version {version}")
