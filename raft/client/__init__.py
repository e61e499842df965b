"""Talking to a quorum from outside: find the leader, append, read what is committed, describe.

settings      where the quorum is, and how long to wait for it
steps         what a session asks its driver to do: put a question, pause
session       all decisions, without a socket or a clock
blocking      the driver for ordinary code (executors, the command line)
asynchronous  the driver for asyncio
"""

from raft.client.blocking import Client
from raft.client.results import Appended, BatchPlan, Fetched, LogPlace, QuorumDescription, ReplicaDescription
from raft.client.settings import ClientSettings
from raft.writers import WriteKey

__all__ = [
    "Appended",
    "BatchPlan",
    "Client",
    "ClientSettings",
    "Fetched",
    "LogPlace",
    "QuorumDescription",
    "ReplicaDescription",
    "WriteKey",
]
