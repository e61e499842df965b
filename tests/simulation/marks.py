"""What happened in a run that makes it worth running: a simulator that never meets these proves nothing."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Literal, NamedTuple

from tests.simulation.faults.kinds import Fault


class Mark(StrEnum):
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
    KILLED = "a process was killed"
    KILLED_BETWEEN_EFFECTS = "a process was killed in the middle of a list of effects"
    LEADER_CRASHED_WITH_UNCOMMITTED = "a leader crashed while records of it were not committed"
    UNFLUSHED_LOST = "a power cut took records that were not flushed"
    UNFLUSHED_SURVIVED = "records that were not flushed outlived a power cut"
    TORN_TAIL = "half a batch was found, and cut off"
    WRITE_REFUSED = "a disk refused to write, and the node stopped"
    WRITTEN_SHORT = "a disk wrote the first part of some bytes, and refused the rest"
    FLUSH_REFUSED = "a disk refused to flush, and the node stopped"
    DISK_FULL = "a disk was full, and the node stopped"
    START_REFUSED_BY_DISK = "a node could not start because its disk refused"
    DAMAGE_REFUSED = "a node refused to start from a log that had been damaged"
    TRUNCATION = "a log was cut because another leader had other records"
    TRUNCATION_IN_SEVERAL_STEPS = "a log was cut twice in a row before it agreed"
    VOIDED_FLUSH = "a flush was reported after the log had been cut"
    VOIDED_FLUSH_OF_OFFSETS_WRITTEN_AGAIN = "such a report spoke of offsets that were written anew, not flushed yet"
    SHARED_FLUSH = "one flush answered for several orders"
    SLOW_FLUSH = "a flush took very long"
    SEGMENT_ROLLED = "a log had several segments"
    PRODUCER_SNAPSHOT = "a table of writers was written down"
    REPEATED_APPEND_RECOGNISED = "an append that was there already was recognised"
    UNCOMMITTED_APPEND_RECOGNISED = "an append was recognised that was there already, uncommitted"
    CLOCKS_LEAPT = "the clocks of clients leapt by more time than writers are remembered for"
    OTHER_CONTENT_REFUSED = "other rows under a written key were refused"
    OLDER_WRITE_REFUSED = "a key's older version was refused"
    APPEND_OUT_OF_ORDER = "an append was refused because one before it was missing"
    APPEND_TIMED_OUT = "an append was not committed in time"
    APPEND_LOST_AND_WRITTEN_AGAIN = "an append was cut off with its log and later written again"
    MESSAGE_LOST = "a message was lost"
    MESSAGE_HELD = "a message was held for long, and others overtook it"
    LATE_REQUEST = "a request came again long after its time"
    LATE_RESPONSE = "an answer came back to a node that had another role by then"
    RESPONSE_TRUNCATED = "an answer to a fetch broke off in the middle of a batch"
    RESPONSE_DAMAGED = "an answer to a fetch held a damaged batch"
    CONNECTION_RESET = "connections broke with requests on them"
    CONNECTION_REFUSED_BY_FIREWALL = "a node was refused a connection to another that runs"
    PRE_VOTES_AFTER_REFUSALS = "a follower whose leader refused connections asked for pre-votes at once"
    APPENDS_TOGETHER = "several appends came to the core as one event"
    FORGERY_TURNED_AWAY = "a request of an epoch that no election has reached was refused"
    REQUEST_ABANDONED = "a node heard that nobody waits for its answer any more, and forgot a request"
    SENT_ON_LOST_CONNECTION = "a request went out on a connection that leads nowhere"
    CONNECTION_MADE_ANEW = "a node gave up such a connection and made another"
    SENT_TO_DEAD_ADDRESS = "a node looked for its leader where nobody listens"
    WRONG_VOTER_ASKED = "a node was asked what was meant for another voter"
    STRANGER_TURNED_AWAY = "a request of another cluster was refused"
    OLD_PEER_CANNOT_PRE_VOTE = "a node skipped pre-votes because a peer does not know them"
    ONE_WAY_PARTITION = "a link was cut in one direction"
    SHORT_LEADERSHIP = "a leader was cut off as soon as it led"
    FOLLOWER_READ = "a follower served a client"
    READER_ASKED_OLD_LEADER = "a deposed leader turned a reader away"
    LOG_AHEAD_OF_STORED_EPOCH = "a node started with a log of a later epoch than its stored state, and believed the log"
    LOST_DISK_REPORTED = "a leader reported that a voter asks for less than it had"


BEYOND_MARKS = frozenset((Mark.LOG_AHEAD_OF_STORED_EPOCH,))
"""What only faults bring about that a quorum cannot always outlive; see `BEYOND`."""


class Moment(NamedTuple):
    """A moment at which something struck: instead of which work that was to be done."""

    end: Literal["power cut", "refused", "killed"]
    instead_of: str


class Marks:
    """What was seen of a run, and how often.

    Attributes:
        counts: marks.
        strikes: faults that struck.
        moments: where in a node's work the end came.
    """

    def __init__(self) -> None:
        self.counts: Counter[Mark] = Counter()
        self.strikes: Counter[Fault] = Counter()
        self.moments: Counter[Moment] = Counter()

    def count(self, mark: Mark, is_so: bool = True) -> None:
        """It happened, if it is so."""
        if is_so:
            self.counts[mark] += 1
