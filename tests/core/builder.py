"""Nodes in a given state, each brought there by real events.

Every builder gives a node 1 (`US`) that entered its role at 0 ms with new timeouts: an election timeout ends at
`ELECTION_TIMEOUT_MS`, a fetch timeout at `FETCH_TIMEOUT_MS`. The random numbers are always 0. Unless a test says
otherwise, the quorum is 1, 2 and 3, and the log ends at offset 10 with a record of epoch 3 (`LOG`). A node whose id is
not among `voters` is an observer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from raft.core import CoreConfig, RaftCore
from raft.core.effects import Effect, FlushLog, SendRequest
from raft.core.events import (
    Event,
    Failure,
    LogFlushed,
    RequestFailed,
    RequestReceived,
    ResignRequested,
    ResponseReceived,
    SnapshotChecked,
    Started,
    TimePassed,
)
from raft.core.log_view import LogView
from raft.core.messages import ClientFetchRequest, IncomingRequest, Response
from raft.core.roles import Leader, Role, election_state
from raft.core.state import State
from raft.core.voter_set import Voter, VoterSet
from raft.transactions import ProducerState, SnapshotSummary
from raft.types import (
    BatchHeader,
    ElectionState,
    Endpoint,
    Epoch,
    EpochStart,
    NodeId,
    Offset,
    OffsetAndEpoch,
    ReplicaKey,
    Uuid,
)
from tests.core.wording import (
    CLUSTER_ID,
    LOG_END,
    REQUEST_ID,
    US,
    endpoint,
    fetch_request,
    fetch_response,
    vote_response,
)

ELECTION_TIMEOUT_MS = 1000
FETCH_TIMEOUT_MS = 2000

LOG = ((3, 0),)
"""The epoch cache of every node by default, in pairs of epoch and start offset."""


def voter_set(voters: Iterable[int] = (1, 2, 3)) -> VoterSet:
    """A static voter set (kraft.version 0)."""
    return VoterSet.static({NodeId(voter): endpoint(voter) for voter in voters})


def voter_set_with_directories() -> VoterSet:
    """Voters 1, 2 and 3 with directory ids "disk-1", "disk-2" and "disk-3"."""
    return VoterSet(
        Voter(key=ReplicaKey(NodeId(voter), Uuid(f"disk-{voter}")), endpoints=(endpoint(voter),)) for voter in (1, 2, 3)
    )


def a_log(epochs: Iterable[tuple[int, int]] = LOG, end: int = LOG_END[1], *, start: int = 0) -> LogView:
    """A log from its (epoch, start offset) pairs and its end."""
    return LogView(
        start=OffsetAndEpoch(offset=Offset(start), epoch=Epoch(0)),
        end_offset=Offset(end),
        epochs=[EpochStart(epoch=Epoch(epoch), start_offset=Offset(first)) for epoch, first in epochs],
    )


def a_config(
    voters: VoterSet | Iterable[int] = (1, 2, 3),
    *,
    directory: str | None = None,
    bootstrap_servers: tuple[Endpoint, ...] = (),
    election_timeout_ms: int = ELECTION_TIMEOUT_MS,
) -> CoreConfig:
    """The configuration of node 1, with Kafka's default timeouts."""
    return CoreConfig(
        replica=ReplicaKey(NodeId(US), Uuid(directory) if directory else None),
        cluster_id=CLUSTER_ID,
        voters=voters if isinstance(voters, VoterSet) else voter_set(voters),
        bootstrap_servers=bootstrap_servers,
        election_timeout_ms=election_timeout_ms,
    )


class Node:
    """A core, and the numbers of the requests and flushes it has ordered.

    Numbers in the effects that `handle` returns count from 0 when a builder returns the node, so that a
    test can say "the first request it sends".
    """

    def __init__(self, core: RaftCore) -> None:
        self.core = core
        self._sends: dict[int, int] = {}
        self._flush = LogFlushed(number=-1, end_offset=Offset(0))
        self._sends_before = 0
        self._flushes_before = 0
        self.history: list[Effect] = []
        """All effects, with their own numbers."""

    def count_from_here(self) -> Node:
        """Number what is ordered from now on from 0."""
        self._sends_before = max(self._sends.values(), default=-1) + 1
        self._flushes_before = self._flush.number + 1
        return self

    def handle(self, event: Event, *, now_ms: int) -> list[Effect]:
        """Feed one event to the core."""
        effects = self.core.handle(event, now_ms)
        self.history += effects
        return [self._noted(effect) for effect in effects]

    def _noted(self, effect: Effect) -> Effect:
        match effect:
            case SendRequest():
                assert effect.number not in self._sends.values(), "every request has a number of its own"
                self._sends[effect.node_id] = effect.number
                return replace(effect, number=effect.number - self._sends_before)
            case FlushLog():
                self._flush = LogFlushed(number=effect.number, end_offset=effect.end_offset)
                return replace(effect, number=effect.number - self._flushes_before)
            case _:
                return effect

    def receives(
        self, request: IncomingRequest | ClientFetchRequest, *, now_ms: int = 100, request_id: int = REQUEST_ID
    ) -> list[Effect]:
        """A request comes in."""
        return self.handle(RequestReceived(request_id=request_id, request=request), now_ms=now_ms)

    def gets(self, response: Response, *, of: int, now_ms: int = 100) -> list[Effect]:
        """Node `of` responds to the last request that went to it."""
        return self.handle(self.response_event(response, of=of), now_ms=now_ms)

    def response_event(self, response: Response, *, of: int) -> ResponseReceived:
        """The event that node `of` responds to the last request that went to it."""
        return ResponseReceived(number=self._sends[of], response=response)

    def fails_to_reach(
        self, node_id: int, failure: Failure = Failure.DISCONNECTED, *, now_ms: int = 100
    ) -> list[Effect]:
        """The last request to that node gets no response."""
        return self.handle(self.failure_of(node_id, failure), now_ms=now_ms)

    def failure_of(self, node_id: int, failure: Failure) -> RequestFailed:
        """The event that the last request to that node gets no response."""
        return RequestFailed(number=self._sends[node_id], failure=failure)

    def waits(self, *, until: int) -> list[Effect]:
        """Time passes, and nothing else."""
        return self.handle(TimePassed(), now_ms=until)

    def has_flushed(self, *, now_ms: int = 100) -> list[Effect]:
        """The newest flush is done."""
        return self.handle(self._flush, now_ms=now_ms)

    def has_checked(self, snapshot: OffsetAndEpoch, *, is_whole: bool = True, now_ms: int = 100) -> list[Effect]:
        """The snapshot that was downloaded is checked; it has no epochs and no writers."""
        contents = SnapshotSummary(end=snapshot, epochs=(), producers=ProducerState().image(snapshot.offset))
        event = SnapshotChecked(snapshot=snapshot, contents=contents if is_whole else None)
        return self.handle(event, now_ms=now_ms)

    @property
    def last_flush(self) -> LogFlushed:
        """The event that the newest flush is done."""
        return self._flush

    @property
    def role(self) -> Role:
        """The present role."""
        return self.core.role

    @property
    def role_name(self) -> str:
        """The present role, by name."""
        return type(self.role).__name__

    @property
    def high_watermark(self) -> Offset | None:
        """The present high watermark."""
        return self.core.high_watermark


def a_state(role: Role, *, config: CoreConfig | None = None, is_stored: bool = True) -> State:
    """A bare state in that role, for tests of single steps below the core."""
    return State(
        config or a_config(),
        role=role,
        stored=election_state(role) if is_stored else None,
        log=a_log(),
        producers=ProducerState(),
        draw=lambda _sides: 0,
    )


def not_started(
    stored: ElectionState | None,
    *,
    config: CoreConfig | None = None,
    log: LogView | None = None,
    headers: Iterable[BatchHeader] = (),
    known_committed: int = 0,
    draw: Callable[[int], int] = lambda _sides: 0,
) -> Node:
    """A node before its first event."""
    producers = ProducerState()
    for header in headers:
        producers.appended(header)
    core = RaftCore(
        config or a_config(),
        stored=stored,
        log=log or a_log(),
        producers=producers,
        known_committed=Offset(known_committed),
        draw=draw,
    )
    return Node(core)


def a_node(
    *,
    epoch: int,
    leader: int | None = None,
    voted: int | ReplicaKey | None = None,
    config: CoreConfig | None = None,
    log: LogView | None = None,
    headers: Iterable[BatchHeader] = (),
    known_committed: int = 0,
    draw: Callable[[int], int] = lambda _sides: 0,
    now_ms: int = 0,
) -> Node:
    """A node that has just started from what it had stored."""
    voted_key = ReplicaKey(NodeId(voted)) if isinstance(voted, int) else voted
    leader_id = None if leader is None else NodeId(leader)
    stored = ElectionState(epoch=Epoch(epoch), leader_id=leader_id, voted_key=voted_key)
    node = not_started(stored, config=config, log=log, headers=headers, known_committed=known_committed, draw=draw)
    node.handle(Started(), now_ms=now_ms)
    return node.count_from_here()


def an_unattached(
    *,
    epoch: int,
    leader: int | None = None,
    voted: int | ReplicaKey | None = None,
    voters: VoterSet | Iterable[int] = (1, 2, 3),
    directory: str | None = None,
    log: LogView | None = None,
) -> Node:
    """A node without a leader it could fetch from. With a `leader` outside `voters` it knows the leader but no address.

    As the random numbers are 0, its first fetch is in flight to the first of the others.
    """
    return a_node(epoch=epoch, leader=leader, voted=voted, config=a_config(voters, directory=directory), log=log)


def a_follower(
    *,
    of: int,
    epoch: int,
    voted: int | None = None,
    has_fetched: bool = False,
    high_watermark: int | None = None,
    voters: VoterSet | Iterable[int] = (1, 2, 3),
    directory: str | None = None,
    log: LogView | None = None,
    headers: Iterable[BatchHeader] = (),
) -> Node:
    """A follower of a voter; its fetch is in flight to the leader.

    With `has_fetched` the leader has responded once at 0 ms, with nothing new but perhaps its high watermark.
    """
    config = a_config(voters, directory=directory)
    node = a_node(epoch=epoch, leader=of, voted=voted, config=config, log=log, headers=headers)
    if has_fetched or high_watermark is not None:
        node.gets(fetch_response(epoch=epoch, leader=of, high_watermark=high_watermark), of=of, now_ms=0)
    return node.count_from_here()


def a_prospective(
    *,
    epoch: int,
    leader: int | None = None,
    voted: int | None = None,
    voters: VoterSet | Iterable[int] = (1, 2, 3),
    log: LogView | None = None,
) -> Node:
    """A node whose pre-votes are in flight to all other voters. A `leader` among `voters` is known with its address."""
    config = a_config(voters)
    timeout_ms = FETCH_TIMEOUT_MS if config.voters.endpoints(NodeId(leader or 0)) else ELECTION_TIMEOUT_MS
    node = a_node(epoch=epoch, leader=leader, voted=voted, config=config, log=log, now_ms=-timeout_ms)
    node.waits(until=0)
    return node.count_from_here()


def a_candidate(*, epoch: int, voters: VoterSet | Iterable[int] = (1, 2, 3), log: LogView | None = None) -> Node:
    """A node whose votes are in flight to all other voters."""
    return a_node(epoch=epoch, voted=US, config=a_config(voters), log=log)


def a_leader(
    *,
    epoch: int,
    voters: Collection[int] = (1, 2, 3),
    disks_known: bool = False,
    flushed: bool = True,
    high_watermark_known: bool = False,
    log: LogView | None = None,
    headers: Iterable[BatchHeader] = (),
    linger_ms: int = 0,
) -> Node:
    """A leader that was just elected by a bare majority, the lowest ids. Its announcements are in flight.

    Its LeaderChange record is at the end of `log`; `flushed` says whether it is on disk. With
    `high_watermark_known` that bare majority has fetched it too, at 0 ms; with `disks_known` the voter set is that of
    `voter_set_with_directories`.
    """
    others = [voter for voter in voters if voter != US]
    needed = (len(others) + 1) // 2
    config = a_config(voter_set_with_directories(), directory="disk-1") if disks_known else a_config(voters)
    config = replace(config, high_watermark_linger_ms=linger_ms)
    node = a_node(epoch=epoch, voted=US, config=config, log=log, headers=headers)
    for voter in others[:needed]:
        node.gets(vote_response(epoch=epoch, granted=True), of=voter, now_ms=0)
    assert isinstance(node.role, Leader)
    if flushed:
        node.has_flushed(now_ms=0)
    if high_watermark_known:
        for voter in others[:needed]:
            end = node.core.log.end
            fetch = fetch_request(by=voter, epoch=epoch, offset=end.offset, last_epoch=end.epoch, max_wait_ms=0)
            node.receives(fetch, now_ms=0)
        assert node.high_watermark == node.core.log.end_offset
    return node.count_from_here()


def a_resigned(*, epoch: int, voters: Collection[int] = (1, 2, 3)) -> Node:
    """A leader that has resigned before any voter had fetched; its EndQuorumEpoch requests are in flight."""
    node = a_leader(epoch=epoch, voters=voters)
    node.handle(ResignRequested(epoch=Epoch(epoch)), now_ms=0)
    return node.count_from_here()
