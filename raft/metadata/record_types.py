"""The table of all record types of `__cluster_metadata`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from raft.codec import Message
from raft.metadata.records.access_control import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from raft.metadata.records.brokers import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from raft.metadata.records.configs import ConfigRecord
from raft.metadata.records.controllers import RegisterControllerRecord, UnregisterControllerRecord
from raft.metadata.records.features import FeatureLevelRecord
from raft.metadata.records.others import NoOpRecord, ProducerIdsRecord, ZkMigrationStateRecord
from raft.metadata.records.partitions import ClearElrRecord, PartitionChangeRecord, PartitionRecord
from raft.metadata.records.quotas import ClientQuotaRecord
from raft.metadata.records.tokens import DelegationTokenRecord, RemoveDelegationTokenRecord
from raft.metadata.records.topics import RemoveTopicRecord, TopicRecord
from raft.metadata.records.transactions import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord
from raft.metadata.records.users import RemoveUserScramCredentialRecord, UserScramCredentialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordType:
    """A type of record.

    Fields:
        id: the number of the type in the log.
        name: Kafka's name of the type.
        message_class: the class of its messages.
        lowest_version: the lowest version that can be read.
        highest_version: the highest version that is known.
    """

    id: int
    name: str
    message_class: type[Message]
    lowest_version: int
    highest_version: int


def _record_type(message_class: type[Message]) -> RecordType:
    schema = message_class.__schema__
    assert schema.api_key is not None, f"{message_class.__name__} is declared without its type"
    return RecordType(
        id=schema.api_key,
        name=schema.struct.name,
        message_class=message_class,
        lowest_version=schema.versions.lowest,
        highest_version=schema.versions.highest,
    )


_MESSAGE_CLASSES: tuple[type[Message], ...] = (
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
    TopicRecord,
    PartitionRecord,
    ConfigRecord,
    PartitionChangeRecord,
    FenceBrokerRecord,
    UnfenceBrokerRecord,
    RemoveTopicRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
    FeatureLevelRecord,
    ClientQuotaRecord,
    ProducerIdsRecord,
    BrokerRegistrationChangeRecord,
    AccessControlEntryRecord,
    RemoveAccessControlEntryRecord,
    NoOpRecord,
    ZkMigrationStateRecord,
    RemoveUserScramCredentialRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    AbortTransactionRecord,
    RemoveDelegationTokenRecord,
    RegisterControllerRecord,
    ClearElrRecord,
    UnregisterControllerRecord,
)

RECORD_TYPES: Mapping[int, RecordType] = MappingProxyType(
    {record_type.id: record_type for record_type in map(_record_type, _MESSAGE_CLASSES)}
)
"""All types that are known, by id (META-5)."""

TYPES_OF_MESSAGES: Mapping[type[Message], RecordType] = MappingProxyType(
    {record_type.message_class: record_type for record_type in RECORD_TYPES.values()}
)
"""All types that are known, by the class of their messages."""
