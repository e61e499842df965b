"""A whole quorum on this machine: every voter a child process on loopback, watched, restarted, never left behind."""

from raft.local.local_quorum import LocalQuorum

__all__ = ["LocalQuorum"]
