"""The kinds of faults."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """A kind of fault, or of an operator's request. Its name seeds its random numbers, so a new name changes all runs.

    Faults of single messages are in `NetworkPlan`, slow disks in `DiskPlan`.
    """

    CRASH = "a machine crashes, perhaps within a step"
    BLACKOUT = "all machines lose their power"
    STALL = "a process stalls"
    SUSPENSION = "a leader is suspended until another one has committed records"
    CLOCK_JUMP = "a clock jumps ahead"
    SHUTDOWN = "an operator shuts a node down"
    RESIGNATION = "an operator makes a leader resign"
    PARTITION = "the network is divided"
    FLAPPING = "links fail and come back repeatedly"
    SUCCESSION = "each new leader is cut off at once"
    RESET = "the connections between two nodes are reset"
    HALF_OPEN = "a connection becomes half open"
    REFUSAL = "a firewall refuses the connections of one node to another"
    MISDIRECTION = "a node's address leads to another node"
    STRANGER = "a node of another cluster sends a request"
    FORGERY = "a request in the name of a voter has an epoch that no election has reached"
    DISK_ERROR = "a disk call fails"
    BIT_ROT = "a flushed bit flips while a machine is down"
    DAMAGE = "a flushed bit flips while a machine runs"
    LOST_DISK = "a machine gets another disk, empty or with an old copy"
    STALE_ELECTION_STATE = "a machine's election state is replaced by an old one"
    FULL_DISK = "another program fills a disk, or all of them, for some time"
    NEW_DISK = "an observer gets an empty disk"
    INTRUDER = "clients send requests that they may not send"
    REVOCATION = "a user or a right is taken away for some time"
    WRONG_RULES = "the rules of one voter refuse the other nodes, or those of all voters refuse one node"
    FLOOD = "clients send small requests on many connections without a pause"
    UNNOTICED_ROT = "a flushed bit flips where the damage looks like a torn write"


NOT_TOLERATED = frozenset((Fault.LOST_DISK, Fault.STALE_ELECTION_STATE, Fault.UNNOTICED_ROT))
"""Faults that a quorum of kraft.version 0 does not always tolerate. They strike only in runs of their own."""

BY_REQUEST = frozenset((Fault.SHUTDOWN, Fault.RESIGNATION))
"""Requests of an operator, which are no faults."""
