"""Structs by which several messages speak of nodes."""

from raft.codec import INT32, STRING, UINT16, Message, field, struct


@struct
class Listener(Message):
    """Where a node listens, under the name of that listener."""

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class NodeEndpoint(Message):
    """Where a voter listens."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(UINT16)


@struct
class BrokerEndpoint(Message):
    """Where a node listens, in the messages that clients use too."""

    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    rack: str | None = field(STRING, nullable="0+", default=None)


@struct
class LeaderIdAndEpoch(Message):
    """The newest leader the sender knows of; -1 for what it does not."""

    leader_id: int = field(INT32, default=-1)
    leader_epoch: int = field(INT32, default=-1)
