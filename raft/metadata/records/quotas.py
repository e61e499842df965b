"""Records of client quotas."""

from raft.codec import BOOL, FLOAT64, STRING, Message, array, field, message, struct


@struct
class QuotaEntity(Message):
    """A part of the entity that a quota is for.

    Fields:
        entity_type: `user`, `client-id` or `ip`.
        entity_name: the name, or null for the default of this type.
    """

    entity_type: str = field(STRING)
    entity_name: str | None = field(STRING, nullable="0+")


@message(api_key=14, versions="0", flexible="0+")
class ClientQuotaRecord(Message):
    """A quota was set or removed.

    Fields:
        entity: the entity that the quota is for.
        key: the name of the quota, such as `producer_byte_rate`.
        value: its value; has no meaning if the quota was removed.
        remove: whether it was removed.
    """

    entity: tuple[QuotaEntity, ...] = field(array(QuotaEntity))
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)
