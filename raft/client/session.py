"""The decisions of a client: which node it asks, which response it accepts, when it tries again. No socket, no clock.

Each call is a generator of steps (see `raft.client.steps`). A session keeps the highest leader epoch that it has seen
and sends it with its requests, so that a replaced leader refuses them. It drops responses of a lower epoch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from raft.client.discovery import API_VERSIONS_REQUEST, LeaderNode, Lookup, Software, look_up_leader, software_of
from raft.client.failures import NEEDED_RULE, PENDING
from raft.client.outage import Outage, Report
from raft.client.readers import Readers
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply
from raft.codec import Message
from raft.errors import ConfigError, ErrorCode, LowerEpochError, QuorumUnavailableError, error_name, refusal
from raft.types import Endpoint, Epoch
from raft.wire.messages.api_versions import ApiVersionsResponse

Response = TypeVar("Response", bound=Message)

_RETRIABLE = frozenset(
    [
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.OFFSET_NOT_AVAILABLE,
    ]
)
"""Errors after which the same request may succeed, at the same node or at another."""

_NOT_AUTHORIZED = frozenset(
    [
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ]
)


@dataclass(slots=True, kw_only=True)
class Deadline:
    """When a call began, and how long it may take. The time for which a node throttles the client does not count."""

    started_ms: int
    timeout_ms: int

    def left_ms(self, now_ms: int) -> int:
        """How much of the time is left; 0 if none."""
        return max(self.started_ms + self.timeout_ms - now_ms, 0)

    def extend(self, duration_ms: int) -> None:
        """Let the call take so much longer."""
        self.timeout_ms += duration_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseStatus:
    """Whether a response is an error, and of which epoch it is.

    Fields:
        error: Kafka's error code; 0 for none.
        message: what the node says about the error; None for nothing.
        epoch: the leader epoch that the response names; None if it names none.
    """

    error: int
    message: str | None = None
    epoch: Epoch | None = None


class Session:
    """What a client knows about its quorum, and how it sends requests to the leader.

    Args:
        settings: where the quorum is, and how long to wait for it.
        epoch: the highest leader epoch known from before.
        turn: see `raft.client.readers.Readers`.
        report: gets the warnings of `raft.client.outage`.

    Attributes:
        epoch: the highest leader epoch seen.
        cluster_id: the id of the cluster; None before the first response.
        servers: the nodes that are known; the list only grows.
        readers: those that serve fetches.
    """

    def __init__(
        self,
        settings: ClientSettings,
        *,
        epoch: Epoch = Epoch(0),
        turn: int = 0,
        report: Report = lambda _warning: None,
    ) -> None:
        self.settings = settings
        self.epoch = epoch
        self.cluster_id: str | None = None
        self.servers: list[Endpoint] = list(settings.bootstrap_servers)
        self._next_server = 0
        self._leader: LeaderNode | None = None
        self._found_topic: str | None = None
        self.readers = Readers(settings, turn=turn)
        self._outage = Outage(settings, report)

    def start_over(self, *, cluster_id: str | None, epoch: Epoch) -> None:
        """Forget everything that responses said, except the addresses of nodes, and start from these values.

        Args:
            cluster_id: the only cluster whose responses are accepted; None accepts any.
            epoch: the lowest leader epoch whose responses are accepted.
        """
        self.cluster_id = cluster_id
        self.epoch = epoch
        self._leader = None
        self._found_topic = None
        self.readers.forget()

    def ask_leader(
        self,
        request_to: Callable[[LeaderNode], Message],
        status_of: Callable[[Response], ResponseStatus],
        deadline: Deadline,
        *,
        may_wait_ms: int = 0,
    ) -> Operation[Response]:
        """Send a request to the leader, again after elections and lost responses, until a response is accepted.

        Args:
            request_to: makes the request to a leader.
            status_of: reads the error and the epoch of a response.
            deadline: when to give up.
            may_wait_ms: how long the node may hold the request, in addition to the request timeout.

        Raises:
            QuorumUnavailableError: no response was accepted in time; what the request changes may have happened.
            LowerEpochError: the same, because the only leader found has a lower epoch than one seen before.
            RequestError: the response is an error that a retry cannot change.
            ConfigError: the quorum belongs to another cluster, or hosts another topic.
        """
        now_ms = deadline.started_ms
        self._outage.begin(deadline.started_ms, deadline.timeout_ms)
        while True:
            leader = self._leader
            if leader is None or leader.software is None:
                leader, now_ms = yield from self.find_leader(deadline, now_ms)
            request = request_to(leader)
            outcome = yield from self._ask_or_switch(leader, request, deadline, now_ms, may_wait_ms=may_wait_ms)
            now_ms = outcome.now_ms
            if self._leader is not leader:
                continue  # A newer leader is known and gets the same request.
            is_refusal = False
            if outcome.response is None:
                failure = str(outcome.failure)
            else:
                status = status_of(outcome.response)  # type: ignore[arg-type]  # a response is of its request's API
                if self.accepts(status):
                    self._outage.end(now_ms)
                    return outcome.response  # type: ignore[return-value]
                failure = _words(status)
                is_refusal = status.error == ErrorCode.STORAGE_ERROR
            self._outage.add(leader.endpoint, failure, is_connected=outcome.is_connected, is_refusal=is_refusal)
            now_ms = yield from self.forget_leader(f"{leader.endpoint}: {failure}", deadline, now_ms)

    def find_software(self, deadline: Deadline) -> Operation[Software]:
        """Find out which software the leader runs.

        Args:
            deadline: when to give up.

        Raises:
            QuorumUnavailableError: no leader was found in time.
            ConfigError: the quorum belongs to another cluster, or hosts another topic.
        """
        leader = self._leader
        if leader is None or leader.software is None:
            leader, _ = yield from self.find_leader(deadline, deadline.started_ms)
        assert leader.software is not None, "the leader was asked for its versions"
        return leader.software

    def accepts(self, status: ResponseStatus) -> bool:
        """Whether a response is neither an error nor of an older epoch; remembers its epoch.

        Raises:
            RequestError: it is an error that a retry cannot change.
        """
        self._outage.has_reached = True
        is_old = status.epoch is not None and status.epoch < self.epoch
        if status.epoch is not None:
            self.epoch = max(self.epoch, status.epoch)
        if status.error != ErrorCode.NONE and status.error not in _RETRIABLE:
            raise refusal(status.error, _words(status))
        return status.error == ErrorCode.NONE and not is_old

    def forget_leader(self, failure: str, deadline: Deadline, now_ms: int) -> Operation[int]:
        """Forget the leader, and pause before the next request; returns the driver's clock.

        Args:
            failure: why the leader did not serve the request.
            deadline: of the call.
            now_ms: the driver's clock.

        Raises:
            QuorumUnavailableError: no time is left for another request.
        """
        self._leader = None
        self._outage.check(now_ms)
        if deadline.left_ms(now_ms) <= self.settings.retry_backoff_ms:
            words = f"no response from the leader within {deadline.timeout_ms} ms; last failure: {failure}"
            raise QuorumUnavailableError(self._outage.failure(words))
        return (yield Pause(duration_ms=self.settings.retry_backoff_ms)).now_ms

    def _ask_or_switch(
        self, leader: LeaderNode, request: Message, deadline: Deadline, now_ms: int, *, may_wait_ms: int = 0
    ) -> Operation[Reply]:
        """Send a request to the leader; give it up if a newer leader is found before the response.

        Returns:
            The outcome of the request. If it was given up, another leader is known, and only the time counts.
        """
        timeout_ms = min(self.settings.request_timeout_ms + may_wait_ms, deadline.left_ms(now_ms))
        outcome = yield Ask(
            endpoint=leader.endpoint,
            request=request,
            timeout_ms=timeout_ms,
            patience_ms=self.settings.patience_ms + may_wait_ms,
        )
        if outcome.is_pending:
            timeout = Deadline(started_ms=now_ms, timeout_ms=timeout_ms)
            outcome = yield from self._await_or_switch(leader, timeout, outcome.now_ms)
        return outcome

    def _await_or_switch(self, leader: LeaderNode, deadline: Deadline, now_ms: int) -> Operation[Reply]:
        """Wait for the leader's overdue response, and meanwhile ask the other nodes in turn for a newer leader.

        A leader that is suspended or partitioned keeps its connections open and sends nothing. The other voters elect a
        new leader long before the request times out. A leader of the same or a lower epoch is no reason to switch: the
        present one may only be slow, and a second request would add to its load.

        Args:
            leader: the node that has the request in flight.
            deadline: when that request times out.
            now_ms: the driver's clock.

        Returns:
            See `_ask_or_switch`.
        """
        pause_ms = self.settings.retry_backoff_ms
        turn = self._next_server
        while True:
            others = [server for server in self.servers if server != leader.endpoint]
            if others:
                timeout_ms = min(self.settings.patience_ms, deadline.left_ms(now_ms))
                server = others[turn % len(others)]
                turn += 1
                newer = yield from self._newer_leader(server, timeout_ms, than=leader)
                if newer is not None:
                    self._set_leader(newer)
                    return (yield GiveUp(endpoint=leader.endpoint))
            outcome = yield Await(endpoint=leader.endpoint, patience_ms=pause_ms)
            if not outcome.is_pending:
                return outcome
            now_ms = outcome.now_ms
            self._outage.add(leader.endpoint, PENDING, is_connected=outcome.is_connected)
            self._outage.check(now_ms)
            pause_ms = min(2 * pause_ms, self.settings.patience_ms // 2)

    def _newer_leader(self, server: Endpoint, timeout_ms: int, *, than: LeaderNode) -> Operation[LeaderNode | None]:
        try:
            lookup = yield from self.look_up_leader(server, timeout_ms, busy=than.endpoint)
        except ConfigError:
            return None  # A node of another cluster, at an endpoint of this one, names no leader of this one.
        found = lookup.leader
        if found is None:
            self._outage.add(server, lookup.failure, is_connected=lookup.is_connected)
        return found if found is not None and self._is_newer(found, than=than) else None

    def _is_newer(self, found: LeaderNode, *, than: LeaderNode) -> bool:
        return found.epoch > than.epoch and found.epoch >= self.epoch and found.endpoint != than.endpoint

    def find_leader(self, deadline: Deadline, now_ms: int) -> Operation[tuple[LeaderNode, int]]:
        """Find the leader and its software, unless they are known; also returns the driver's clock.

        Raises:
            QuorumUnavailableError, ConfigError: see `ask_leader`.
        """
        self._outage.begin(deadline.started_ms, deadline.timeout_ms)
        while True:
            leader = self._leader
            if leader is None:
                now_ms = yield from self._search_leader(deadline, now_ms)
            elif leader.software is not None:
                return leader, now_ms
            else:
                outcome = yield from self._ask_or_switch(leader, API_VERSIONS_REQUEST, deadline, now_ms)
                now_ms = outcome.now_ms
                if self._leader is not leader:
                    continue
                if isinstance(outcome.response, ApiVersionsResponse):
                    self._leader = replace(leader, software=software_of(outcome.response))
                else:
                    self._outage.add(leader.endpoint, str(outcome.failure), is_connected=outcome.is_connected)
                    now_ms = yield from self.forget_leader(f"{leader.endpoint}: {outcome.failure}", deadline, now_ms)

    def _search_leader(self, deadline: Deadline, now_ms: int) -> Operation[int]:
        """Ask one node after the other for the leader; pause between rounds. Returns the driver's clock.

        A node that does not respond soon is skipped, as another one may know the leader. In each round the nodes have
        more time, up to the request timeout: all of them may be slow.
        """
        error: type[QuorumUnavailableError] = QuorumUnavailableError
        patience_ms = self.settings.patience_ms
        while True:
            for _ in range(len(self.servers)):
                server = self.servers[self._next_server % len(self.servers)]
                self._next_server += 1
                timeout_ms = min(patience_ms, self.settings.request_timeout_ms, deadline.left_ms(now_ms))
                lookup = yield from self.look_up_leader(server, timeout_ms)
                now_ms = lookup.now_ms
                found = lookup.leader
                if found is not None and found.epoch >= self.epoch:
                    self._next_server -= 1  # It knew the leader, so it is asked first next time.
                    self._outage.remove(server)
                    self._set_leader(found)
                    return now_ms
                failure = lookup.failure
                if found is not None:
                    failure = f"knows a leader of epoch {found.epoch}, but epoch {self.epoch} was seen"
                    error = LowerEpochError
                self._outage.add(server, failure, is_connected=lookup.is_connected, timeout_ms=timeout_ms)
                self._outage.check(now_ms)
                if deadline.left_ms(now_ms) <= self.settings.retry_backoff_ms:
                    words = f"no leader found within {deadline.timeout_ms} ms: {self._outage}"
                    raise error(self._outage.failure(words))
            now_ms = (yield Pause(duration_ms=self.settings.retry_backoff_ms)).now_ms
            patience_ms *= 2

    def look_up_leader(self, server: Endpoint, timeout_ms: int, *, busy: Endpoint | None = None) -> Operation[Lookup]:
        """Ask one node for the leader, and learn from it where the other nodes are.

        Args:
            server: the node; no request to it may be in flight.
            timeout_ms: how long each response may take.
            busy: see `raft.client.discovery.look_up_leader`.

        Raises:
            ConfigError: the node belongs to another cluster than expected, or hosts another topic.
        """
        lookup = yield from look_up_leader(
            server, topic=self.settings.topic, timeout_ms=timeout_ms, found_topic=self._found_topic, busy=busy
        )
        self._learn_nodes(lookup)
        return lookup

    def _set_leader(self, leader: LeaderNode) -> None:
        self.epoch, self._leader, self._found_topic = leader.epoch, leader, leader.topic.name

    def _learn_nodes(self, lookup: Lookup) -> None:
        """Remember the cluster id, and where the nodes are.

        Raises:
            ConfigError: the node belongs to another cluster than expected.
        """
        if lookup.cluster_id is None:
            return
        expected = self.settings.cluster_id or self.cluster_id
        if expected is not None and lookup.cluster_id != expected:
            why = "kraft.cluster.id" if self.settings.cluster_id else "seen before"
            raise ConfigError(f"the quorum has cluster id {lookup.cluster_id}, expected {expected} ({why})")
        self.cluster_id = lookup.cluster_id
        self.servers += [endpoint for endpoint in lookup.servers if endpoint not in self.servers]


def _words(status: ResponseStatus) -> str:
    message = status.message or (NEEDED_RULE if status.error in _NOT_AUTHORIZED else None)
    return error_name(status.error) + (f": {message}" if message else "")
