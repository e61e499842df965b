"""A KRaft quorum in Python: Kafka's Raft (KIP-595, with Pre-Vote from KIP-996), byte for byte.

For programs:

    Producer, Transaction   append records
    Reader                  reads committed records
    Record, AppendedRecords a record; where records were appended
    Client, AsyncClient     all other calls; ClientSettings: where the quorum is, and how long to wait for it
    Endpoint, WriteKey      the address of a node; the name of a write that may be repeated
    RaftError               the base of all errors
"""

from __future__ import annotations

import typing

from raft.version import __version__

_MODULES = {
    "AppendedRecords": "raft.client",
    "AsyncClient": "raft.client",
    "AuthenticationError": "raft.errors",
    "AuthorizationError": "raft.errors",
    "Client": "raft.client",
    "ClientSettings": "raft.client",
    "ConfigError": "raft.errors",
    "CorruptBatchError": "raft.errors",
    "DamagedRecordsError": "raft.errors",
    "DuplicateResourceError": "raft.errors",
    "Endpoint": "raft.types",
    "InvalidTimestampError": "raft.errors",
    "MessageTooLargeError": "raft.errors",
    "OffsetOutOfRangeError": "raft.errors",
    "OutOfOrderSequenceError": "raft.errors",
    "Producer": "raft.client",
    "QuorumUnavailableError": "raft.errors",
    "QuorumUnreachableError": "raft.errors",
    "RaftError": "raft.errors",
    "ReadFrom": "raft.client",
    "Reader": "raft.client",
    "Record": "raft.records.record",
    "RequestError": "raft.errors",
    "Transaction": "raft.client",
    "WriteKey": "raft.writers",
}
"""Where each public name is. They are imported at their first use: a node and a worker of Spark need few of them."""

if typing.TYPE_CHECKING:
    from raft.client import (
        AppendedRecords,
        AsyncClient,
        Client,
        ClientSettings,
        Producer,
        Reader,
        ReadFrom,
        Transaction,
    )
    from raft.errors import (
        AuthenticationError,
        AuthorizationError,
        ConfigError,
        CorruptBatchError,
        DamagedRecordsError,
        DuplicateResourceError,
        InvalidTimestampError,
        MessageTooLargeError,
        OffsetOutOfRangeError,
        OutOfOrderSequenceError,
        QuorumUnavailableError,
        QuorumUnreachableError,
        RaftError,
        RequestError,
    )
    from raft.records.record import Record
    from raft.types import Endpoint
    from raft.writers import WriteKey

__all__ = [
    "AppendedRecords",
    "AsyncClient",
    "AuthenticationError",
    "AuthorizationError",
    "Client",
    "ClientSettings",
    "ConfigError",
    "CorruptBatchError",
    "DamagedRecordsError",
    "DuplicateResourceError",
    "Endpoint",
    "InvalidTimestampError",
    "MessageTooLargeError",
    "OffsetOutOfRangeError",
    "OutOfOrderSequenceError",
    "Producer",
    "QuorumUnavailableError",
    "QuorumUnreachableError",
    "RaftError",
    "ReadFrom",
    "Reader",
    "Record",
    "RequestError",
    "Transaction",
    "WriteKey",
    "__version__",
]


def __getattr__(name: str) -> object:
    """Import a public name at its first use."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(module), name)
