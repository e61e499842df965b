"""What is read from a node when it is scraped."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from raft.core import RaftCore
from raft.runtime.client_quotas import Throttled
from raft.runtime.disk import Disk
from raft.security.operations import Operation
from raft.security.outcomes import AuthenticationOutcome
from raft.security.quotas import Entity, QuotaKind
from raft.storage.damage import DamageReport
from raft.storage.scrub import ScrubProgress


class CountsBytes(Protocol):
    """Counts the bytes of what it bounds."""

    @property
    def taken_bytes(self) -> int:
        """How many there are now."""
        ...

    @property
    def limit_bytes(self) -> int:
        """How many there may be."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Memory that is bounded, in bytes."""

    used_bytes: int
    limit_bytes: int

    @classmethod
    def of(cls, counter: CountsBytes) -> Budget:
        """Return what a counter says now."""
        return cls(used_bytes=counter.taken_bytes, limit_bytes=counter.limit_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFigures:
    """The figures of a node that are not in its core.

    Fields:
        connections: how many are open, by the name of the listener and whether a voter has opened it.
        outbound_connections: how many this node has opened to other nodes.
        dropped_connections: how many the node has closed since its start, by cause.
        requests: memory of appends without a response.
        responses: memory of responses to fetches.
        large_frames: the received part of large frames.
        free_bytes: of the disk; None before the first measurement.
        scrub: how far the check of the log is.
        damage: what is damaged of the log, and what was repaired.
        authentications: how many have ended in which way since its start, by listener.
        unauthorized: how many requests the rules have refused since its start, by operation.
        certificates: when they expire, by listener.
        outdated: of how many listeners files have changed and cannot be used, by what the files hold.
        throttled: which clients were told to wait since the start, by the kind of their quota.
    """

    connections: Mapping[tuple[str, bool], int]
    outbound_connections: int
    dropped_connections: Mapping[str, int]
    requests: Budget
    responses: Budget
    large_frames: Budget
    free_bytes: int | None
    scrub: ScrubProgress
    damage: DamageReport
    authentications: Mapping[tuple[str, AuthenticationOutcome], int]
    unauthorized: Mapping[Operation, int]
    certificates: Mapping[str, datetime]
    outdated: Mapping[str, int]
    throttled: Mapping[tuple[QuotaKind, Entity], Throttled]


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitored:
    """The parts of a node whose state is served.

    Fields:
        core: to be read only.
        disk: of the replica.
        figures: returns the rest; called on the event loop.
        tls: returns the certificates of the listener for metrics, for each connection; None without TLS.
    """

    core: RaftCore
    disk: Disk
    figures: Callable[[], NodeFigures]
    tls: Callable[[], ssl.SSLContext] | None = None
