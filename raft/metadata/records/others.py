"""Records of producer ids and of the migration from ZooKeeper, and the record without a meaning."""

from raft.codec import INT8, INT32, INT64, Message, field, message


@message(api_key=15, versions="0", flexible="0+")
class ProducerIdsRecord(Message):
    """A broker was given a block of producer ids.

    Fields:
        broker_id: the id of the broker.
        broker_epoch: the epoch of its registration.
        next_producer_id: the first id of the next block.
    """

    broker_id: int = field(INT32)
    broker_epoch: int = field(INT64)
    next_producer_id: int = field(INT64)


@message(api_key=20, versions="0", flexible="0+")
class NoOpRecord(Message):
    """Changes nothing. A controller writes it at intervals, so that the end of the log moves."""


@message(api_key=21, versions="0", flexible="0+")
class ZkMigrationStateRecord(Message):
    """The state of the migration from ZooKeeper. Clusters without ZooKeeper have it too.

    Fields:
        zk_migration_state: the number of the state in Kafka's ZkMigrationState; 0 in a cluster that was created without
            ZooKeeper.
    """

    zk_migration_state: int = field(INT8)
