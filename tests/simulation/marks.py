"""Coverage marks: the situations that the fixed seeds have to reach (`test_seeds.py`), counted where they occur."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Literal, NamedTuple

from tests.simulation.faults.kinds import Fault


class Mark(StrEnum):
    """A situation that must occur in some run; otherwise the runs prove nothing about it."""

    LEADER_ELECTED = "a leader was elected"
    SEVERAL_CANDIDATES = "an epoch had several candidates"
    PRE_VOTE_REFUSED_FOR_LEADER = "a follower that has fetched refused a pre-vote"
    VOTE_REFUSED = "a standard vote was refused"
    STALE_LEADER = "a deposed leader still led while a newer one was elected"
    COMMIT_WAITED_FOR_OWN_EPOCH = "records of an older epoch were on a majority, and were not committed yet"
    QUORUM_LOST = "a leader without a majority resigned"
    RESTARTED_AS_RESIGNED = "a leader restarted in its epoch"
    RESTARTED_AS_CANDIDATE = "a candidate restarted in its epoch"
    HANDED_OVER = "a shutdown ended once another node was elected"
    SHUTDOWN_TIMED_OUT = "a shutdown timed out"
    RESIGNED_ON_REQUEST = "a leader resigned on request"
    POWER_CUT = "the power of one machine was cut"
    POWER_CUT_WHILE_WRITING = "the power was cut in place of a disk call"
    POWER_CUT_WHILE_STARTING = "the power was cut during recovery"
    KILLED = "a process was killed"
    KILLED_BETWEEN_EFFECTS = "a process was killed between two effects"
    LEADER_CRASHED_WITH_UNCOMMITTED = "a leader crashed with uncommitted records"
    UNFLUSHED_LOST = "a power cut lost unflushed records"
    UNFLUSHED_KEPT = "unflushed records survived a power cut"
    TORN_TAIL = "a torn batch was truncated at a start"
    WRITE_FAILED = "a write failed, and the node stopped"
    SHORT_WRITE = "a write failed after some of its bytes were written"
    FLUSH_FAILED = "a flush failed, and the node stopped"
    DISK_FULL = "a disk was full, and the node stopped"
    DISK_ERROR_WHILE_STARTING = "a disk error stopped a start"
    DAMAGE_FOUND_BY_SCRUB = "a scrub found damage in a log that a start had trusted"
    DAMAGED_LOG_REFUSED = "a node refused to start from a damaged log"
    DAMAGE_FOUND = "a running node found damage of its log"
    LEADER_FOUND_DAMAGE = "a leader found damage of its log"
    DAMAGED_LEADER_RESIGNED = "a leader with a damaged log resigned, because another voter was sound"
    ROUND_LEFT_FOR_DAMAGE = "a voter with a damaged log began a round of pre-votes"
    DAMAGED_READ_REFUSED = "a client was refused records that are damaged"
    DAMAGED_FETCH_REFUSED = "a replica was refused records that are damaged"
    REPAIR_ORDERED = "a replica received the records of a damaged range"
    DAMAGE_REPAIRED = "a replica repaired its log"
    DAMAGE_WITHOUT_SOURCE = "a damaged range was not in the log of the leader any more"
    TRUNCATION = "a follower truncated its diverging log"
    TRUNCATION_IN_SEVERAL_STEPS = "a follower truncated its log in several rounds"
    VOIDED_FLUSH = "a flush was reported after a truncation"
    VOIDED_FLUSH_OF_REWRITTEN_OFFSETS = "a flush was reported for offsets that were rewritten and not flushed again"
    SHARED_FLUSH = "one flush covered several orders"
    SLOW_FLUSH = "a flush was slow"
    SEGMENT_ROLLED = "a log had several segments"
    PRODUCER_SNAPSHOT = "a producer snapshot was written"
    REPEATED_APPEND_RECOGNISED = "a repeated append was recognised"
    UNCOMMITTED_APPEND_RECOGNISED = "a repeated append of an uncommitted write was recognised"
    CLIENT_CLOCKS_JUMPED = "the clients' clocks jumped by more than the expiration of writers"
    OTHER_CONTENT_REFUSED = "other rows under a written key were refused"
    OLDER_WRITE_REFUSED = "a key's older version was refused"
    APPEND_OUT_OF_ORDER = "an append was refused because one before it was missing"
    APPEND_TIMED_OUT = "an append was not committed in time"
    TRUNCATED_APPEND_WRITTEN_AGAIN = "a truncated append was written again"
    MESSAGE_LOST = "a message was lost"
    MESSAGE_HELD = "a message was held back"
    LATE_REQUEST = "a late copy of a request arrived"
    LATE_RESPONSE = "a response arrived at a node with another role than at its request"
    RESPONSE_TRUNCATED = "a fetch response ended within a batch"
    RESPONSE_DAMAGED = "a fetch response held a damaged batch"
    CONNECTION_RESET = "a connection was reset with a request in flight"
    CONNECTION_REFUSED_BY_FIREWALL = "a firewall refused a connection to a running node"
    PRE_VOTES_AFTER_REFUSALS = "a follower requested pre-votes after its connections to the leader were refused"
    APPENDS_COALESCED = "several appends were coalesced into one event"
    FORGED_REQUEST_REFUSED = "a request with a forged epoch was refused"
    REQUEST_ABANDONED = "a request was abandoned because its sender disconnected"
    SENT_ON_HALF_OPEN_CONNECTION = "a request was sent on a half-open connection"
    FORGOTTEN_REQUEST_NOT_SENT = "a request was not sent, because its node did not wait for it any more"
    FETCH_WAITED_FOR_ANOTHER = "a fetch waited at its receiver for the response to another request"
    FLOODING_REQUEST_SERVED = "a request of a flood was served"
    CLIENT_THROTTLED = "a client was throttled by a quota"
    CONNECTION_NOT_READ = "requests arrived on a connection that was not read, because others waited for its turn"
    CONNECTION_READ_AGAIN = "a connection was read again, and had more requests"
    CONNECTION_REPLACED = "a node replaced a half-open connection"
    SENT_TO_DEAD_ADDRESS = "a node sent a request to a dead address"
    REQUEST_FOR_ANOTHER_VOTER = "a node received a request for another voter"
    FOREIGN_REQUEST_REFUSED = "a request of another cluster was refused"
    OLD_PEER_CANNOT_PRE_VOTE = "a node skipped pre-votes because a peer does not support them"
    ONE_WAY_PARTITION = "a link was cut in one direction"
    SHORT_LEADERSHIP = "a new leader was cut off at once"
    SUSPENDED_LEADER_WENT_ON = "a suspended leader went on after another one had committed records"
    FOLLOWER_SERVED_READ = "a follower served a fetch of a client"
    DEPOSED_LEADER_REFUSED_READ = "a deposed leader refused a fetch of a client"
    LOG_AHEAD_OF_STORED_EPOCH = (
        "a node started with a log of a higher epoch than its election state, and adopted that epoch"
    )
    LOST_DISK_REPORTED = "a leader reported that a voter had lost records"
    TRANSACTION_COMMITTED = "a transaction of a producer was committed"
    TRANSACTION_ABORTED = "a transaction of a producer was aborted"
    TRANSACTION_TIMED_OUT = "a transaction of a producer was aborted after its timeout"
    PRODUCER_FENCED = "a producer with an older epoch was fenced"
    MULTIPART_WRITE_COMMITTED = "a write in parts was committed"
    PART_ABORTED = "a part was aborted"
    PART_TIMED_OUT = "a part was aborted after its timeout"
    COMMIT_ENDED_BY_SUCCESSOR = "a leader wrote the markers of a commit that an earlier leader had appended"
    WRITE_COMMIT_TRUNCATED = "the commit of a write in parts was truncated"
    TRANSACTION_MARKER_TRUNCATED = "the marker of a transaction was truncated"
    STABLE_OFFSET_HELD = "an open transaction held the last stable offset below the high watermark"
    WRITE_HELD_BACK = "a transaction that was open within a whole multipart write held the last stable offset before it"
    NEW_WRITE_WAITED = "a multipart write could not begin, because others had overlapped for too long"
    LATEST_CONFIRMED = "a leader answered where its log ends, after a majority had confirmed it"
    LATEST_REFUSED = "a node that did not lead, or led no more, refused to answer where its log ends"
    LATEST_NOT_CONFIRMED = "a leader was not confirmed in time when it was asked where its log ends"
    SNAPSHOT_MADE = "a snapshot was made"
    SNAPSHOT_MADE_FROM_SNAPSHOT = "a snapshot was made from another one"
    SNAPSHOT_MADE_IN_TRANSACTION = "a snapshot was made that ends in a transaction"
    SNAPSHOT_SERVED = "a leader served a piece of a snapshot"
    SNAPSHOT_DOWNLOADED = "a replica downloaded a snapshot to its end"
    SNAPSHOT_LOADED_BY_VOTER = "a snapshot replaced the log of a voter"
    SNAPSHOT_LOADED_BY_OBSERVER = "a snapshot replaced the log of an observer"
    SNAPSHOT_LOADED_IN_TRANSACTION = "a snapshot that ends in a transaction was loaded"
    SNAPSHOT_REPLACED_DIVERGING_LOG = "a snapshot replaced a log that had diverged"
    SNAPSHOT_DAMAGED = "a snapshot that arrived damaged was not loaded"
    SNAPSHOT_NOT_USED = "a snapshot was not loaded, because its replica followed another leader by then"
    LOG_CUT = "a log was cut"
    LEADER_CUT_ITS_LOG = "a leader cut its log"
    STARTED_FROM_SNAPSHOT = "a node started with a log that begins with a snapshot"
    SNAPSHOT_READ = "a client read the records of a snapshot"
    READ_BEFORE_THE_LOG = "a client asked for an offset before the log"
    SNAPSHOT_LEFT_UNFINISHED = "a node stopped while it made a snapshot"
    DOWNLOAD_LEFT_UNFINISHED = "a node stopped while it downloaded a snapshot"
    RECORDS_REFUSED_BY_FULL_DISK = "a leader refused records, because its disk had no room"
    RECORDS_DROPPED_BY_FULL_DISK = "a replica dropped fetched records, because its disk had no room"
    ROOM_MADE_BY_SNAPSHOT = "a node with a full disk removed a part of its log"
    JOB_WAITED_FOR_ROOM = "a job of a disk waited for room"
    FOUND_ROOM = "the jobs of a disk that had waited for room were done"
    LEADER_WITHOUT_ROOM_RESIGNED = "a leader without room resigned, because another voter had room"
    ROUND_LEFT_TO_OTHERS = "a voter without room left an election to others"
    REQUEST_BEFORE_AUTHENTICATION = "a request before authentication ended its connection"
    REQUEST_WHILE_PROVING = "a request in the middle of authentication ended its connection"
    SASL_OUT_OF_ORDER = "a message of SASL that could not come ended its connection"
    TOO_MANY_REQUESTS = "too many requests before authentication ended their connection"
    MECHANISM_REFUSED = "a mechanism of SASL was refused"
    WRONG_PROOF_REFUSED = "a wrong password was refused"
    OLD_PROOF_REFUSED = "messages of SCRAM that were sent again were refused"
    REMOVED_USER_REFUSED = "a user that was removed was refused"
    REMOVED_NODE_REFUSED = "a node whose user was removed was refused"
    REMOVED_USER_STAYED = "a user that was removed was served on a connection that was open before"
    OTHER_USER_REFUSED = "authentication again as another user was refused"
    REQUEST_IGNORED = "a request behind a wrong one was ignored"
    SESSION_EXPIRED = "a request after the end of its session ended the connection"
    NODE_FORGOT_ITS_SESSION = "a node did not authenticate again, and its connection was closed"
    NODE_AUTHENTICATED_AGAIN = "a node authenticated again on its connection"
    CLIENT_AUTHENTICATED_AGAIN = "a client of this project authenticated again on its connection"
    AUTHENTICATION_INTERRUPTED = "a connection broke while its user authenticated"
    CLIENT_WITHOUT_RIGHT_REFUSED = "a client without the right was refused"
    OTHER_NAME_REFUSED = "a request in the name of a node that its user may not speak as was refused"
    RIGHT_TAKEN_ON_OPEN_CONNECTION = "a request was refused on a connection on which it was served before"
    RIGHT_GIVEN_ON_OPEN_CONNECTION = "a request was served on a connection on which it was refused before"
    NODE_REFUSED_BY_WRONG_RULES = "a node was refused by the wrong rules of another one, and went on"
    REFUSED_NODE_STOPPED = "a node that all others refused stopped"
    INSTALLATION_INTERRUPTED = "a node stopped while a snapshot replaced its log"


NOT_TOLERATED_MARKS = frozenset((Mark.LOG_AHEAD_OF_STORED_EPOCH,))
"""Marks that only faults of `NOT_TOLERATED` reach."""


class Interruption(NamedTuple):
    """The interruption of a node: how it ended, and in place of which disk call or effect."""

    end: Literal["power cut", "disk error", "killed"]
    instead_of: str


class Marks:
    """Counts what happens in a run.

    Attributes:
        counts: how often each mark was reached.
        strikes: how often each fault struck.
        interruptions: how often each interruption occurred.
    """

    def __init__(self) -> None:
        self.counts: Counter[Mark] = Counter()
        self.strikes: Counter[Fault] = Counter()
        self.interruptions: Counter[Interruption] = Counter()

    def count(self, mark: Mark, is_so: bool = True) -> None:
        """Count a mark, if the condition holds."""
        if is_so:
            self.counts[mark] += 1
