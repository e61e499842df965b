"""FindCoordinator: a client requests the coordinator of its consumer group or its transactions (rule CLIENT-14)."""

from raft.codec import INT8, INT16, INT32, STRING, Message, array, field, message, struct

GROUP = 0
TRANSACTION = 1


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(Message):
    """Names one key, or from version 4 on several.

    Fields:
        key, coordinator_keys: group ids or transactional ids, as `key_type` says.
        key_type: `GROUP`, `TRANSACTION`, or another type of Kafka's.
    """

    key: str = field(STRING, versions="0-3", default="")
    key_type: int = field(INT8, versions="1+", default=GROUP)
    coordinator_keys: tuple[str, ...] = field(array(STRING), versions="4+", default=())


@struct
class Coordinator(Message):
    """The coordinator of one key, or the error."""

    key: str = field(STRING)
    node_id: int = field(INT32)
    host: str = field(STRING)
    port: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(STRING, nullable="4+")


@message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse(Message):
    """Names the coordinator of the one key, or from version 4 on of each key."""

    throttle_time_ms: int = field(INT32, versions="1+", default=0, ignorable=True)
    error_code: int = field(INT16, versions="0-3", default=0, ignorable=True)
    error_message: str | None = field(STRING, versions="1-3", nullable="1-3", default="", ignorable=True)
    node_id: int = field(INT32, versions="0-3", default=0, ignorable=True)
    host: str = field(STRING, versions="0-3", default="", ignorable=True)
    port: int = field(INT32, versions="0-3", default=0, ignorable=True)
    coordinators: tuple[Coordinator, ...] = field(array(Coordinator), versions="4+", default=())
