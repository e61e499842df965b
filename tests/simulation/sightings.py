"""What happened in a run that makes it worth running: a simulator that never meets these proves nothing."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum


class Sight(StrEnum):
    """Something that has to happen now and then. Each is counted where it happens."""

    LEADER_ELECTED = "a leader was elected"
    SEVERAL_CANDIDATES = "two stood in one epoch"
    PRE_VOTE_REFUSED_FOR_LEADER = "a pre-vote was refused because a leader lives"
    VOTE_REFUSED = "a standard vote was refused"
    STALE_LEADER = "a leader went on while a newer one led"
    HELD_BACK_BY_OWN_EPOCH = "records of an older epoch were on a majority and did not commit by themselves"
    QUORUM_LOST = "a leader without a majority resigned"
    LED_BEFORE_CRASH = "a node that had led started again in its epoch"
    STOOD_BEFORE_CRASH = "a candidate started again in its epoch"
    HANDED_OVER = "a leader that left handed over"
    SHUTDOWN_TIMED_OUT = "a node that left waited in vain"
    RESIGNED_ON_REQUEST = "a leader resigned because it was asked to"
    POWER_CUT = "the power of one machine was cut"
    POWER_CUT_WHILE_WRITING = "the power was cut in the middle of the work of a disk"
    POWER_CUT_WHILE_STARTING = "the power was cut in the middle of a recovery"
    BLACKOUT = "the power of all machines was cut"
    KILLED = "a process was killed"
    KILLED_BETWEEN_EFFECTS = "a process was killed in the middle of a list of effects"
    LEADER_CRASHED_WITH_UNCOMMITTED = "a leader crashed while records of it were not committed"
    UNFLUSHED_LOST = "a power cut took records that were not flushed"
    UNFLUSHED_SURVIVED = "records that were not flushed outlived a power cut"
    TORN_TAIL = "half a batch was found, and cut off"
    TRUNCATION = "a log was cut because another leader had other records"
    TRUNCATION_IN_SEVERAL_STEPS = "a log was cut twice in a row before it agreed"
    VOIDED_FLUSH = "a flush was reported after the log had been cut"
    VOIDED_FLUSH_OF_OFFSETS_WRITTEN_AGAIN = "such a report spoke of offsets that were written anew, not flushed yet"
    SHARED_FLUSH = "one flush answered for several orders"
    SEGMENT_ROLLED = "a log had several segments"
    REPEATED_APPEND_RECOGNISED = "an append that was there already was recognised"
    UNCOMMITTED_APPEND_RECOGNISED = "an append was recognised that was there already, uncommitted"
    OLDER_WRITE_REFUSED = "a key's older version was refused"
    APPEND_OUT_OF_ORDER = "an append was refused because one before it was missing"
    APPEND_TIMED_OUT = "an append was not committed in time"
    APPEND_LOST_AND_WRITTEN_AGAIN = "an append was cut off with its log and later written again"
    LATE_REQUEST = "a request came again long after its time"
    MESSAGE_LOST = "a message was lost"
    CONNECTION_RESET = "connections broke with requests on them"
    PARTITION = "the network was divided"
    ONE_WAY_PARTITION = "a link was cut in one direction"
    SHORT_REIGN = "a leader was cut off as soon as it led"
    STALL = "a process stood still for a while"
    FOLLOWER_READ = "a follower served a client"
    READER_ASKED_OLD_LEADER = "a deposed leader turned a reader away"


class Sightings:
    """How often each was seen."""

    def __init__(self) -> None:
        self.counts: Counter[Sight] = Counter()

    def count(self, sight: Sight) -> None:
        """It happened."""
        self.counts[sight] += 1
