"""A client's decisions: whom to ask, what to believe, when to ask again. No socket, no clock, no thread.

Each call is a generator of steps (see `raft.client.steps`). A session keeps the highest leader epoch it has seen, sends
it along, and drops answers of a lower one: a deposed leader then says so instead of giving an old end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from raft.client.discovery import API_VERSIONS_REQUEST, Dialect, Leader, Sighting, dialect_of, look
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Outcome, Pause
from raft.codec import Message
from raft.errors import ConfigError, ErrorCode, LowerEpochError, QuorumUnavailableError, RequestError, error_name
from raft.types import Endpoint, Epoch
from raft.wire.messages.api_versions import ApiVersionsResponse

Answer = TypeVar("Answer", bound=Message)

_ASK_ANOTHER = frozenset(
    [
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ]
)
"""Errors after which the same question may find its answer, here or elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """When a call began, and how long it may take."""

    started_ms: int
    timeout_ms: int

    def left_ms(self, now_ms: int) -> int:
        """What is left of it."""
        return max(self.started_ms + self.timeout_ms - now_ms, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What an answer says: its error, with the node's own words, and the epoch it was given in, if it names one."""

    error: int
    message: str | None = None
    epoch: Epoch | None = None


class Session:
    """What a client knows of its quorum, and how it asks."""

    def __init__(self, settings: ClientSettings, *, epoch: Epoch = Epoch(0)) -> None:
        self.settings = settings
        self.epoch = epoch
        self.cluster_id: str | None = None
        self._servers: list[Endpoint] = list(settings.bootstrap_servers)
        self._next_server = 0
        self._leader: Leader | None = None
        self._found_topic: str | None = None

    def start_over(self, *, cluster_id: str | None, epoch: Epoch) -> None:
        """Believe what is told here, and nothing that was seen before, but where nodes are."""
        self.cluster_id = cluster_id
        self.epoch = epoch
        self._leader = None
        self._found_topic = None

    def ask_leader(
        self,
        make: Callable[[Leader], Message],
        judge: Callable[[Answer], Judged],
        deadline: Deadline,
        *,
        may_wait_ms: int = 0,
    ) -> Operation[Answer]:
        """Ask whoever leads, through elections and lost answers, until there is an answer to believe.

        Args:
            make: makes the request for a leader.
            judge: reads the answer's error and epoch.
            deadline: when to give up.
            may_wait_ms: how long the node may hold the request, beyond the usual time for an answer.

        Raises:
            QuorumUnavailableError: no such answer came in time; what the request would have changed may have happened.
            LowerEpochError: as the only leader in sight has a lower epoch than one seen before.
            RequestError: the answer is an error that asking again does not mend.
            ConfigError: it is another cluster, or another topic.
        """
        now_ms = deadline.started_ms
        while True:
            leader, now_ms = yield from self._find_leader(deadline, now_ms)
            outcome = yield from self._ask_or_leave(leader, make(leader), deadline, now_ms, may_wait_ms=may_wait_ms)
            now_ms = outcome.now_ms
            if self._leader is not leader:
                continue  # left for a newer one, which gets the same request
            if outcome.response is None:
                trouble = f"{leader.endpoint}: {outcome.failure}"
            else:
                judged = judge(outcome.response)  # type: ignore[arg-type]  # the driver pairs answers with requests
                if self._believes(judged):
                    return outcome.response  # type: ignore[return-value]
                trouble = f"{leader.endpoint}: {error_name(judged.error)}"
            now_ms = yield from self._drop_leader(trouble, deadline, now_ms)

    def _drop_leader(self, trouble: str, deadline: Deadline, now_ms: int) -> Operation[int]:
        """Forget the leader, and pause before another question; returns the driver's clock.

        Raises:
            QuorumUnavailableError: no time is left for one.
        """
        self._leader = None
        if deadline.left_ms(now_ms) <= self.settings.retry_backoff_ms:
            raise QuorumUnavailableError(
                f"no answer from the leader within {deadline.timeout_ms} ms; last was {trouble}"
            )
        return (yield Pause(duration_ms=self.settings.retry_backoff_ms)).now_ms

    def _ask_or_leave(
        self, leader: Leader, request: Message, deadline: Deadline, now_ms: int, *, may_wait_ms: int = 0
    ) -> Operation[Outcome]:
        """Ask a leader; leave it for a newer one that shows up before it answers.

        Returns:
            The request's outcome; of a request that was given up, the time alone. Then another leader is known.
        """
        timeout_ms = min(self.settings.request_timeout_ms + may_wait_ms, deadline.left_ms(now_ms))
        outcome = yield Ask(
            endpoint=leader.endpoint,
            request=request,
            timeout_ms=timeout_ms,
            patience_ms=self.settings.patience_ms + may_wait_ms,
        )
        if outcome.is_pending:
            overdue = Deadline(started_ms=now_ms, timeout_ms=timeout_ms)
            outcome = yield from self._await_or_leave(leader, overdue, outcome.now_ms)
        return outcome

    def _await_or_leave(self, leader: Leader, deadline: Deadline, now_ms: int) -> Operation[Outcome]:
        """Wait for a leader's overdue answer, and meanwhile ask other nodes, one after the other, for a newer leader.

        A leader that is frozen, or cut off, keeps the connection open and is silent. The others elect a new one long
        before the request times out. What they say of the same or a lower epoch is no reason to leave: the leader may
        only be slow, and its answer is worth more than a second request.

        Args:
            leader: whom the request in flight was sent to.
            deadline: when the request times out.
            now_ms: the driver's clock.

        Returns:
            See `_ask_or_leave`.
        """
        pause_ms = self.settings.retry_backoff_ms
        turn = self._next_server
        while True:
            others = [server for server in self._servers if server != leader.endpoint]
            if others:
                timeout_ms = min(self.settings.patience_ms, deadline.left_ms(now_ms))
                server = others[turn % len(others)]
                turn += 1
                newer = yield from self._newer_leader(server, timeout_ms, than=leader)
                if newer is not None:
                    self._follow(newer)
                    return (yield GiveUp(endpoint=leader.endpoint))
            outcome = yield Await(endpoint=leader.endpoint, patience_ms=pause_ms)
            if not outcome.is_pending:
                return outcome
            now_ms = outcome.now_ms
            pause_ms = min(2 * pause_ms, self.settings.patience_ms // 2)

    def _newer_leader(self, server: Endpoint, timeout_ms: int, *, than: Leader) -> Operation[Leader | None]:
        try:
            sighting = yield from self._look(server, timeout_ms, silent=than.endpoint)
        except ConfigError:
            return None  # another cluster's node, in the place of one of ours, is no reason to leave the leader
        found = sighting.leader
        return found if found is not None and self._is_newer(found, than=than) else None

    def _is_newer(self, found: Leader, *, than: Leader) -> bool:
        return found.epoch > than.epoch and found.epoch >= self.epoch and found.endpoint != than.endpoint

    def _believes(self, judged: Judged) -> bool:
        """Whether an answer counts; learns its epoch.

        Raises:
            RequestError: it is an error for good.
        """
        is_old = judged.epoch is not None and judged.epoch < self.epoch
        if judged.epoch is not None:
            self.epoch = max(self.epoch, judged.epoch)
        if judged.error != ErrorCode.NONE and judged.error not in _ASK_ANOTHER:
            words = f": {judged.message}" if judged.message else ""
            raise RequestError(judged.error, f"{error_name(judged.error)}{words}")
        return judged.error == ErrorCode.NONE and not is_old

    def find_dialect(self, deadline: Deadline) -> Operation[Dialect]:
        """Find out whose quorum it is.

        Raises:
            QuorumUnavailableError: no leader was found in time.
            ConfigError: it is another cluster, or another topic.
        """
        leader = self._leader
        if leader is None or leader.dialect is None:
            leader, _ = yield from self._find_leader(deadline, deadline.started_ms)
        assert leader.dialect is not None, "the leader was asked"
        return leader.dialect

    def _find_leader(self, deadline: Deadline, now_ms: int) -> Operation[tuple[Leader, int]]:
        """Find the leader, if it is not known, and how it is to be asked; also returns the driver's clock."""
        while True:
            leader = self._leader
            if leader is None:
                now_ms = yield from self._look_for_leader(deadline, now_ms)
            elif leader.dialect is not None:
                return leader, now_ms
            else:
                outcome = yield from self._ask_or_leave(leader, API_VERSIONS_REQUEST, deadline, now_ms)
                now_ms = outcome.now_ms
                if self._leader is not leader:
                    continue
                if isinstance(outcome.response, ApiVersionsResponse):
                    self._leader = replace(leader, dialect=dialect_of(outcome.response))
                else:
                    now_ms = yield from self._drop_leader(f"{leader.endpoint}: {outcome.failure}", deadline, now_ms)

    def _look_for_leader(self, deadline: Deadline, now_ms: int) -> Operation[int]:
        """Ask one node after the other who leads; between rounds, pause. Returns the driver's clock.

        A silent node is passed over soon, as another one may know. From round to round each has more time, up to the
        request timeout: all of them may be slow.
        """
        troubles: dict[Endpoint, str] = {}
        failure: type[QuorumUnavailableError] = QuorumUnavailableError
        patience_ms = self.settings.patience_ms
        while True:
            for _ in range(len(self._servers)):
                server = self._servers[self._next_server % len(self._servers)]
                self._next_server += 1
                timeout_ms = min(patience_ms, self.settings.request_timeout_ms, deadline.left_ms(now_ms))
                sighting = yield from self._look(server, timeout_ms)
                now_ms = sighting.now_ms
                found = sighting.leader
                if found is not None and found.epoch >= self.epoch:
                    self._next_server -= 1  # it knew: ask it first next time
                    self._follow(found)
                    return now_ms
                troubles[server] = sighting.trouble
                if found is not None:
                    troubles[server] = f"knows a leader of epoch {found.epoch}, but epoch {self.epoch} was seen"
                    failure = LowerEpochError
                if deadline.left_ms(now_ms) <= self.settings.retry_backoff_ms:
                    raise failure(
                        f"no leader found within {deadline.timeout_ms} ms: "
                        + "; ".join(f"{endpoint}: {trouble}" for endpoint, trouble in troubles.items())
                    )
            now_ms = (yield Pause(duration_ms=self.settings.retry_backoff_ms)).now_ms
            patience_ms *= 2

    def _look(self, server: Endpoint, timeout_ms: int, *, silent: Endpoint | None = None) -> Operation[Sighting]:
        """Ask one server who leads, and learn from it where the other nodes are."""
        sighting = yield from look(
            server,
            topic=self.settings.topic,
            timeout_ms=timeout_ms,
            found_topic=self._found_topic,
            silent=silent,
        )
        self._learn_places(sighting)
        return sighting

    def _follow(self, leader: Leader) -> None:
        self.epoch, self._leader, self._found_topic = leader.epoch, leader, leader.topic.name

    def _learn_places(self, sighting: Sighting) -> None:
        """Learn which cluster it is, and where its nodes are.

        Raises:
            ConfigError: it is another cluster than before, or than wanted.
        """
        if sighting.cluster_id is None:
            return
        wanted = self.settings.cluster_id or self.cluster_id
        if wanted is not None and sighting.cluster_id != wanted:
            why = "kraft.cluster.id" if self.settings.cluster_id else "as before"
            raise ConfigError(f"the quorum has cluster id {sighting.cluster_id}; wanted is {wanted} ({why})")
        self.cluster_id = sighting.cluster_id
        self._servers += [endpoint for endpoint in sighting.servers if endpoint not in self._servers]
