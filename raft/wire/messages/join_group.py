"""JoinGroup: a client requests to become a member of a consumer group (rule CLIENT-14).

There are no groups. The two oldest versions are enough to refuse the request: every client still knows them.
"""

from raft.codec import BYTES, INT16, INT32, STRING, Message, array, field, message, struct


@struct
class JoinGroupRequestProtocol(Message):
    """An assignment protocol that the client supports."""

    name: str = field(STRING)
    metadata: bytes = field(BYTES)


@message(api_key=11, versions="0-1", flexible="none")
class JoinGroupRequest(Message):
    """Requests to join a group."""

    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(INT32, versions="1+", default=-1, ignorable=True)
    member_id: str = field(STRING)
    protocol_type: str = field(STRING)
    protocols: tuple[JoinGroupRequestProtocol, ...] = field(array(JoinGroupRequestProtocol))


@struct
class JoinGroupResponseMember(Message):
    """A member of the group, listed for the leader of the group."""

    member_id: str = field(STRING)
    metadata: bytes = field(BYTES)


@message(api_key=11, versions="0-1", flexible="none")
class JoinGroupResponse(Message):
    """Returns the member id of the client and the generation of the group."""

    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_name: str = field(STRING)
    leader: str = field(STRING)
    member_id: str = field(STRING)
    members: tuple[JoinGroupResponseMember, ...] = field(array(JoinGroupResponseMember))
