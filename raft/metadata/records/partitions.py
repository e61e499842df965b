"""Records of partitions: replicas, leader, in-sync replicas (ISR) and eligible leader replicas (ELR, KIP-966)."""

from raft.codec import INT8, INT32, STRING, UUID, Message, array, field, message
from raft.types import Uuid

LEADER_UNCHANGED = -2
"""The leader in a PartitionChangeRecord that does not change it."""

RECOVERED = 0
"""The leader recovery state of a partition whose leader came from the ISR, or has recovered."""

RECOVERY_STATE_UNCHANGED = -1
"""The leader recovery state in a PartitionChangeRecord that does not change it."""


@message(api_key=3, versions="0-2", flexible="0+")
class PartitionRecord(Message):
    """The whole state of a partition: it was created, or this is a snapshot.

    Fields:
        partition_id: the number of the partition in its topic.
        topic_id: the id of the topic.
        replicas: the brokers that have a replica; the first one is the preferred leader.
        isr: the brokers whose replicas are in sync.
        removing_replicas: the brokers whose replicas a reassignment removes.
        adding_replicas: the brokers whose replicas a reassignment adds.
        leader: the broker that leads, or -1 if none does.
        leader_epoch: the epoch of the leader.
        partition_epoch: is incremented at every change of the partition.
        directories: the log directory of each replica, in the order of `replicas` (KIP-858).
        leader_recovery_state: 1 after an unclean election, until the leader has recovered; 0 otherwise (KIP-704).
        eligible_leader_replicas: the brokers outside of the ISR that may become leader without loss of data, or null if
            there are none.
        last_known_elr: the last known eligible leader replicas, or null if there are none.
    """

    partition_id: int = field(INT32)
    topic_id: Uuid = field(UUID)
    replicas: tuple[int, ...] = field(array(INT32))
    isr: tuple[int, ...] = field(array(INT32))
    removing_replicas: tuple[int, ...] = field(array(INT32))
    adding_replicas: tuple[int, ...] = field(array(INT32))
    leader: int = field(INT32)
    leader_epoch: int = field(INT32)
    partition_epoch: int = field(INT32)
    directories: tuple[Uuid, ...] = field(array(UUID), versions="1+", default=())
    leader_recovery_state: int = field(INT8, tag=0, default=RECOVERED)
    eligible_leader_replicas: tuple[int, ...] | None = field(
        array(INT32), versions="2+", nullable="2+", tag=1, default=None
    )
    last_known_elr: tuple[int, ...] | None = field(array(INT32), versions="2+", nullable="2+", tag=2, default=None)


@message(api_key=5, versions="0-2", flexible="0+")
class PartitionChangeRecord(Message):
    """What has changed in a partition. Each change increments the partition epoch.

    Fields:
        partition_id: the number of the partition in its topic.
        topic_id: the id of the topic.
        isr: the new ISR, or null if it did not change.
        leader: the new leader, -1 if there is none now, or -2 if it did not change.
        replicas: the new replicas, or null if they did not change.
        removing_replicas: the new replicas that a reassignment removes, or null if they did not change.
        adding_replicas: the new replicas that a reassignment adds, or null if they did not change.
        leader_recovery_state: 1 if the leader comes from an unclean election and has to recover, 0 if it comes from the
            ISR or has recovered, or -1 if the state did not change.
        directories: the new log directory of each replica, or null if they did not change.
        eligible_leader_replicas: the new eligible leader replicas, or null if they did not change.
        last_known_elr: the new last known eligible leader replicas, or null if they did not change.
    """

    partition_id: int = field(INT32)
    topic_id: Uuid = field(UUID)
    isr: tuple[int, ...] | None = field(array(INT32), nullable="0+", tag=0, default=None)
    leader: int = field(INT32, tag=1, default=LEADER_UNCHANGED)
    replicas: tuple[int, ...] | None = field(array(INT32), nullable="0+", tag=2, default=None)
    removing_replicas: tuple[int, ...] | None = field(array(INT32), nullable="0+", tag=3, default=None)
    adding_replicas: tuple[int, ...] | None = field(array(INT32), nullable="0+", tag=4, default=None)
    leader_recovery_state: int = field(INT8, tag=5, default=RECOVERY_STATE_UNCHANGED)
    directories: tuple[Uuid, ...] | None = field(array(UUID), versions="1+", nullable="1+", tag=8, default=None)
    eligible_leader_replicas: tuple[int, ...] | None = field(
        array(INT32), versions="2+", nullable="2+", tag=6, default=None
    )
    last_known_elr: tuple[int, ...] | None = field(array(INT32), versions="2+", nullable="2+", tag=7, default=None)


@message(api_key=28, versions="0", flexible="0+")
class ClearElrRecord(Message):
    """The eligible leader replicas of a topic, or of all topics, were removed.

    Fields:
        topic_name: the name of the topic, or empty for all topics.
    """

    topic_name: str = field(STRING)
