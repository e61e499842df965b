"""Records of dynamic configurations."""

from raft.codec import INT8, STRING, Message, field, message


@message(api_key=4, versions="0", flexible="0+")
class ConfigRecord(Message):
    """A dynamic configuration was set or removed. Values may be secrets.

    Fields:
        resource_type: 2 is a topic, 4 a broker, 8 the loggers of a broker, 16 client metrics, 32 a group.
        resource_name: the name of the resource; empty for the default of all brokers.
        name: the name of the configuration.
        value: its value, or null if it was removed.
    """

    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    name: str = field(STRING)
    value: str | None = field(STRING, nullable="0+")
