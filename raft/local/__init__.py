"""A quorum on this machine: its voters are child processes, which are watched, restarted and stopped with it."""

from raft.local.listen_address import LOOPBACK, ListenAddress
from raft.local.local_quorum import LocalQuorum

__all__ = ["LOOPBACK", "ListenAddress", "LocalQuorum"]
