"""Structs about nodes that several messages use."""

from raft.codec import INT32, STRING, UINT16, Message, field, struct


@struct
class Listener(Message):
    """The endpoint of a node, with the name of the listener."""

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class NodeEndpoint(Message):
    """The endpoint of a voter."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class BrokerEndpoint(Message):
    """The endpoint of a node, in the messages that clients use too."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="0+", default=None)


@struct
class LeaderIdAndEpoch(Message):
    """The newest leader that the sender knows; -1 for unknown."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)
