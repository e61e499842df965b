"""Every kind of fault that strikes a quorum in a run."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """Something that goes wrong now and then, or is asked for. What is wrong with single messages stands in
    `NetworkPlan`, what makes a disk slow in `DiskPlan`.
    """

    CRASH = "a machine goes down, perhaps in the middle of something"
    BLACKOUT = "the power fails everywhere"
    STALL = "a process stands still"
    CLOCK_JUMP = "a clock jumps ahead"
    SHUTDOWN = "a node is asked to leave"
    RESIGNATION = "a leader is asked to resign"
    PARTITION = "the network is divided"
    FLAPPING = "links fail and come back, again and again"
    SUCCESSION = "each new leader is cut off as soon as it leads"
    RESET = "the connections between two nodes break"
    HALF_OPEN = "a connection leads nowhere, and nobody notices"
    REFUSAL = "a firewall refuses the connections of one node to another"
    MISDIRECTION = "a node's address leads to another node"
    STRANGER = "a node of another cluster knocks"
    FORGERY = "a request in a voter's name tells of an epoch that no election has reached"
    DISK_ERROR = "a disk refuses to write or to flush"
    BIT_ROT = "a bit of what was flushed changes while a machine is down"
    LOST_DISK = "a machine gets another disk, empty or with an old copy"
    STALE_ELECTION_STATE = "a machine's election state is an old one again"
    UNNOTICED_ROT = "a bit changes where it looks like a torn write"


BEYOND = frozenset((Fault.LOST_DISK, Fault.STALE_ELECTION_STATE, Fault.UNNOTICED_ROT))
"""Those that a quorum of kraft.version 0 cannot always outlive: they strike in runs of their own, never in others."""

BY_REQUEST = frozenset((Fault.SHUTDOWN, Fault.RESIGNATION))
"""Those that are no faults but an operator's wish."""
