"""The values of control records by type (section CONTROL of the rules; `raft.types.ControlType`).

All are flexible messages. Each begins with an int16 that repeats the version of the message.
"""

from raft.codec import INT16, INT32, INT64, STRING, UINT16, UUID, Message, array, field, message, struct
from raft.types import ZERO_UUID, Uuid


@struct
class LeaderChangeVoter(Message):
    """A voter of the epoch."""

    voter_id: int = field(INT32)
    voter_directory_id: Uuid = field(UUID, versions="1+", default=ZERO_UUID)


@message(versions="0-1", flexible="0+")
class LeaderChangeMessage(Message):
    """LEADER_CHANGE: the leader of an epoch, its voters, and the voters that voted for it (CONTROL-2)."""

    version: int = field(INT16)
    leader_id: int = field(INT32)
    voters: tuple[LeaderChangeVoter, ...] = field(array(LeaderChangeVoter))
    granting_voters: tuple[LeaderChangeVoter, ...] = field(array(LeaderChangeVoter))


@message(versions="0", flexible="0+")
class KRaftVersionRecord(Message):
    """KRAFT_VERSION: the version of the protocol that the quorum uses."""

    version: int = field(INT16)
    kraft_version: int = field(INT16)


@struct
class VoterEndpoint(Message):
    """An endpoint of a voter."""

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class KRaftVersionFeature(Message):
    """The range of kraft.version that a voter supports."""

    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@struct
class Voter(Message):
    """A voter of the set."""

    voter_id: int = field(INT32)
    voter_directory_id: Uuid = field(UUID)
    endpoints: tuple[VoterEndpoint, ...] = field(array(VoterEndpoint))
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


@message(versions="0", flexible="0+")
class VotersRecord(Message):
    """KRAFT_VOTERS: the set of voters from this record on."""

    version: int = field(INT16)
    voters: tuple[Voter, ...] = field(array(Voter))


@message(versions="0", flexible="0+")
class SnapshotHeaderRecord(Message):
    """SNAPSHOT_HEADER: the first record of a snapshot; its time is the append time of the last record, in ms."""

    version: int = field(INT16)
    last_contained_log_timestamp: int = field(INT64)


@message(versions="0", flexible="0+")
class SnapshotFooterRecord(Message):
    """SNAPSHOT_FOOTER: the last record of a snapshot; a snapshot without it is incomplete."""

    version: int = field(INT16)
