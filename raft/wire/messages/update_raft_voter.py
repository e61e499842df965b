"""UpdateRaftVoter: a Java voter sends its endpoints and versions to each new leader (rule COMPAT-7)."""

from raft.codec import INT16, INT32, STRING, UUID, Message, array, field, message, struct
from raft.types import Uuid
from raft.wire.messages.nodes import Listener


@struct
class KRaftVersionFeature(Message):
    """The range of kraft.version that a voter supports."""

    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest(Message):
    """Describes the sending voter."""

    cluster_id: str | None = field(STRING, nullable="0+")
    current_leader_epoch: int = field(INT32)
    voter_id: int = field(INT32)
    voter_directory_id: Uuid = field(UUID)
    listeners: tuple[Listener, ...] = field(array(Listener))
    kraft_version_feature: KRaftVersionFeature = field(KRaftVersionFeature)


@struct
class CurrentLeader(Message):
    """The newest leader that the sender knows, and its endpoint."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)
    host: str = field(STRING, default="")
    port: int = field(INT32, default=0)


@message(api_key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse(Message):
    """Acknowledges the description."""

    throttle_time_ms: int = field(INT32, default=0)
    error_code: int = field(INT16)
    current_leader: CurrentLeader = field(CurrentLeader, tag=0, default=CurrentLeader())
