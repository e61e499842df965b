"""Records of brokers: their registrations, and what changes in them."""

from raft.codec import BOOL, INT8, INT16, INT32, INT64, STRING, UINT16, UUID, Message, array, field, message, struct
from raft.types import Uuid


@struct
class BrokerEndpoint(Message):
    """An endpoint of a broker.

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
class BrokerFeature(Message):
    """The levels of a feature that a broker supports.

    Fields:
        name: the name of the feature, such as `metadata.version`.
        min_supported_version: the lowest level.
        max_supported_version: the highest level.
    """

    name: str = field(STRING)
    min_supported_version: int = field(INT16)
    max_supported_version: int = field(INT16)


@message(api_key=0, versions="0-4", flexible="0+")
class RegisterBrokerRecord(Message):
    """A broker was registered: it started, or this is a snapshot.

    Fields:
        broker_id: the id of the broker.
        is_migrating_zk_broker: whether the broker still uses ZooKeeper and migrates from it.
        incarnation_id: a random id of the process; a broker that is restarted has another.
        broker_epoch: the epoch that the controller gave to this registration.
        end_points: the endpoints at which clients and brokers connect to it.
        features: the features that it supports.
        rack: its rack, or null if none is configured.
        fenced: whether it is fenced: it leads no partition, and clients are not sent to it.
        in_controlled_shutdown: whether it is shutting down and gives up its partitions.
        log_dirs: the ids of its log directories that are available (KIP-858).
        cordoned_log_dirs: the ids of its log directories that get no new replicas, or null if it has not sent them yet
            (KIP-1066).
    """

    broker_id: int = field(INT32)
    is_migrating_zk_broker: bool = field(BOOL, versions="2+", default=False)
    incarnation_id: Uuid = field(UUID)
    broker_epoch: int = field(INT64)
    end_points: tuple[BrokerEndpoint, ...] = field(array(BrokerEndpoint))
    features: tuple[BrokerFeature, ...] = field(array(BrokerFeature))
    rack: str | None = field(STRING, nullable="0+")
    fenced: bool = field(BOOL)
    in_controlled_shutdown: bool = field(BOOL, versions="1+", default=False)
    log_dirs: tuple[Uuid, ...] = field(array(UUID), versions="3+", tag=0, default=())
    cordoned_log_dirs: tuple[Uuid, ...] | None = field(array(UUID), versions="4+", nullable="4+", tag=1, default=None)


@message(api_key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord(Message):
    """The registration of a broker was removed.

    Fields:
        broker_id: the id of the broker.
        broker_epoch: the epoch of the registration.
    """

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)


@message(api_key=7, versions="0", flexible="0+")
class FenceBrokerRecord(Message):
    """A broker was fenced, and removed from all ISRs. Newer clusters write a BrokerRegistrationChangeRecord instead.

    Fields:
        id: the id of the broker.
        epoch: the epoch of its registration.
    """

    id: int = field(INT32)
    epoch: int = field(INT64)


@message(api_key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord(Message):
    """A broker was unfenced. Newer clusters write a BrokerRegistrationChangeRecord instead.

    Fields:
        id: the id of the broker.
        epoch: the epoch of its registration.
    """

    id: int = field(INT32)
    epoch: int = field(INT64)


@message(api_key=17, versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord(Message):
    """What has changed in the registration of a broker.

    Fields:
        broker_id: the id of the broker.
        broker_epoch: the epoch of its registration.
        fenced: 1 if it was fenced, -1 if it was unfenced, 0 if this did not change.
        in_controlled_shutdown: 1 if it has begun to shut down, 0 if this did not change.
        log_dirs: the new ids of its log directories that are available; empty if they did not change.
        cordoned_log_dirs: the new ids of its log directories that get no new replicas, or null if they did not change.
    """

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)
    fenced: int = field(INT8, tag=0, default=0)
    in_controlled_shutdown: int = field(INT8, versions="1+", tag=1, default=0)
    log_dirs: tuple[Uuid, ...] = field(array(UUID), versions="2+", tag=2, default=())
    cordoned_log_dirs: tuple[Uuid, ...] | None = field(array(UUID), versions="3+", nullable="3+", tag=3, default=None)
