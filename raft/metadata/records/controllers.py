"""Records of the registrations of controllers."""

from raft.codec import BOOL, INT16, INT32, STRING, UINT16, UUID, Message, array, field, message, struct
from raft.types import Uuid


@struct
class ControllerEndpoint(Message):
    """An endpoint of a controller.

    Fields:
        name: the name of the listener.
        host: the host name of the endpoint.
        port: the port of the endpoint.
        security_protocol: 0 is PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
    """

    name: str = field(STRING)
    host: str = field(STRING)
    port: int = field(UINT16)
    security_protocol: int = field(INT16)


@struct
class ControllerFeature(Message):
    """The levels of a feature that a controller supports.

    Fields:
        name: the name of the feature, such as `metadata.version`.
        min_supported_version: the lowest level.
        max_supported_version: the highest level.
    """

    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@message(api_key=27, versions="0", flexible="0+")
class RegisterControllerRecord(Message):
    """A controller was registered: it started, or this is a snapshot.

    Fields:
        controller_id: the id of the controller.
        incarnation_id: a random id of the process; a controller that is restarted has another.
        zk_migration_ready: whether it is configured for a migration from ZooKeeper.
        end_points: the endpoints at which others connect to it.
        features: the features that it supports.
    """

    controller_id: int = field(INT32)
    incarnation_id: Uuid = field(UUID)
    zk_migration_ready: bool = field(BOOL)
    end_points: tuple[ControllerEndpoint, ...] = field(array(ControllerEndpoint))
    features: tuple[ControllerFeature, ...] = field(array(ControllerFeature))


@message(api_key=29, versions="0", flexible="0+")
class UnregisterControllerRecord(Message):
    """The registration of a controller was removed (KIP-1312). Kafka 4.3.1 does not have this type.

    Source: UnregisterControllerRecord.json of Kafka's development branch (KAFKA-20395, for 4.4).

    Fields:
        controller_id: the id of the controller.
    """

    controller_id: int = field(INT32)
