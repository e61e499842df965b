"""Clients of a quorum: they find the leader, append, fetch committed records, describe the quorum.

settings      where the quorum is, and how long to wait for it
calls         what a client can ask for, descriptions included; controllers: the same for Apache Kafka's controllers
session       all decisions, without a socket or a clock; discovery: what one server says about its quorum
readers       which nodes serve fetches; reader_requests: asks them before the leader
steps         what a session asks its driver to do: send a request, wait, pause
driver        carries out the steps, except for the waiting; exchange: the requests to one node
blocking      the client for ordinary code (executors, the command line)
producer      appends records exactly once; transaction: appends records that become visible together
reader        iterates over the committed records
asynchronous  the client for asyncio
"""

import typing

from raft.client.aborted import AbortedFilter
from raft.client.blocking import Client
from raft.client.producer import AppendedRecords, Producer
from raft.client.reader import Reader
from raft.client.results import (
    AbortedTransaction,
    Appended,
    BatchPlan,
    Fetched,
    FoundOffset,
    LogPosition,
    NodeDescription,
    QuorumDescription,
    ReplicaDescription,
)
from raft.client.settings import ClientSettings, ReadFrom
from raft.client.transaction import Transaction
from raft.wire.features import WRITES_LEVEL
from raft.writers import PARTS_OF_A_WRITE, WriteId, WriteKey

__all__ = [
    "PARTS_OF_A_WRITE",
    "WRITES_LEVEL",
    "AbortedFilter",
    "AbortedTransaction",
    "Appended",
    "AppendedRecords",
    "AsyncClient",
    "BatchPlan",
    "Client",
    "ClientSettings",
    "Fetched",
    "FoundOffset",
    "LogPosition",
    "NodeDescription",
    "Producer",
    "QuorumDescription",
    "ReadFrom",
    "Reader",
    "ReplicaDescription",
    "Transaction",
    "WriteId",
    "WriteKey",
]

if typing.TYPE_CHECKING:
    from raft.client.asynchronous import AsyncClient
else:

    def __getattr__(name: str) -> object:
        """Import `AsyncClient` on first use: Spark's workers do not use it, and start faster without asyncio."""
        if name == "AsyncClient":
            from raft.client.asynchronous import AsyncClient

            return AsyncClient
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
