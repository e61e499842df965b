"""The rules of the quorum as a pure state machine: events in, effects out. See `RaftCore`."""

from raft.core.config import CoreConfig
from raft.core.machine import RaftCore

__all__ = ["CoreConfig", "RaftCore"]
