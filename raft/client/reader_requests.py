"""Sends a request to the nodes that serve the fetches of a client besides the leader (rules READ-4 to READ-6).

A node that does not lead may lag behind the leader. Then another one is asked, and the leader last, so a client finds
all that the leader has committed, whichever node it asks first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from raft.client.discovery import LeaderNode
from raft.client.session import Deadline, ResponseStatus, Session
from raft.client.steps import Ask, Operation
from raft.codec import Message
from raft.errors import ConfigError, DamagedRecordsError, DecodeError, OffsetOutOfRangeError, RequestError
from raft.types import Endpoint

Response = TypeVar("Response", bound=Message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderResponse(Generic[Response]):
    """A response, and the node that sent it; None for the leader."""

    response: Response
    endpoint: Endpoint | None


def ask_readers(
    session: Session,
    request_to: Callable[[LeaderNode], Message],
    status_of: Callable[[Response], ResponseStatus],
    is_enough: Callable[[Response], bool],
    deadline: Deadline,
) -> Operation[ReaderResponse[Response] | None]:
    """Send a request to the nodes that the settings prefer to the leader, until a response is enough.

    Args:
        session: knows the nodes.
        request_to: makes the request; the leader is known.
        status_of: reads the error and the epoch of a response.
        is_enough: whether a response without an error has what is needed.
        deadline: of the call.

    Returns:
        None if the leader is to be asked: no other node serves this client, or none has sent enough.

    Raises:
        QuorumUnavailableError, ConfigError: no leader was found, see `Session.ask_leader`.
    """
    readers = session.readers
    if readers.is_leader_alone:
        return None
    leader, now_ms = yield from session.find_leader(deadline, deadline.started_ms)
    if readers.must_search(session.servers, now_ms):
        now_ms = yield from _find_readers(session, leader, deadline, now_ms)
    for endpoint in readers.preferred(leader.endpoint):
        # Enough time is left for the leader if the node sends nothing.
        timeout_ms = min(session.settings.request_timeout_ms, deadline.left_ms(now_ms)) // 2
        outcome = yield Ask(
            endpoint=endpoint, request=request_to(leader), timeout_ms=timeout_ms, may_be_unsupported=True
        )
        now_ms = outcome.now_ms
        if outcome.response is None:
            readers.failed(endpoint)
            continue
        response: Response = outcome.response  # type: ignore[assignment]  # a response is of its request's API
        try:
            if session.accepts(status_of(response)) and is_enough(response):
                return ReaderResponse(response=response, endpoint=endpoint)
        except OffsetOutOfRangeError:
            pass  # The log of an observer may start later than the leader's, which decides.
        except (RequestError, DecodeError):
            readers.failed(endpoint)
            continue
        readers.lags(endpoint)
    return None


def ask_leader_or_others(
    session: Session,
    request_to: Callable[[LeaderNode], Message],
    request_to_other: Callable[[LeaderNode], Message],
    status_of: Callable[[Response], ResponseStatus],
    is_enough: Callable[[Response], bool],
    deadline: Deadline,
    *,
    may_wait_ms: int,
) -> Operation[ReaderResponse[Response]]:
    """Send a request to the leader; if the records are damaged on its disk, to the other nodes (READ-9).

    If none of them serves it, the leader is looked up again: one whose log is damaged hands over soon.

    Args:
        session: knows the nodes.
        request_to: makes the request to the leader.
        request_to_other: makes the request to another node; the leader is known.
        status_of: reads the error and the epoch of a response. Raises DamagedRecordsError.
        is_enough: see `ask_readers`.
        deadline: of the call.
        may_wait_ms: see `Session.ask_leader`.

    Raises:
        QuorumUnavailableError, RequestError, ConfigError: see `Session.ask_leader`.
    """
    left = deadline
    while True:
        try:
            response: Response = yield from session.ask_leader(request_to, status_of, left, may_wait_ms=may_wait_ms)
            return ReaderResponse(response=response, endpoint=None)
        except DamagedRecordsError as error:
            read, now_ms = yield from _ask_others(session, request_to_other, status_of, is_enough, left)
            if read is not None:
                return read
            now_ms = yield from session.forget_leader(str(error), deadline, now_ms)
            left = Deadline(started_ms=now_ms, timeout_ms=deadline.left_ms(now_ms))


def _ask_others(
    session: Session,
    request_to: Callable[[LeaderNode], Message],
    status_of: Callable[[Response], ResponseStatus],
    is_enough: Callable[[Response], bool],
    deadline: Deadline,
) -> Operation[tuple[ReaderResponse[Response] | None, int]]:
    """Ask the nodes besides the leader in turn; return the first good response, if any, and the driver's clock."""
    leader, now_ms = yield from session.find_leader(deadline, deadline.started_ms)
    for endpoint in [server for server in session.servers if server != leader.endpoint]:
        timeout_ms = min(session.settings.patience_ms, deadline.left_ms(now_ms) // 2)
        outcome = yield Ask(
            endpoint=endpoint, request=request_to(leader), timeout_ms=timeout_ms, may_be_unsupported=True
        )
        now_ms = outcome.now_ms
        if outcome.response is None:
            continue
        response: Response = outcome.response  # type: ignore[assignment]  # a response is of its request's API
        try:
            if session.accepts(status_of(response)) and is_enough(response):
                return ReaderResponse(response=response, endpoint=endpoint), now_ms
        except (RequestError, DecodeError):
            continue  # It lags behind, or its records are damaged too.
    return None, now_ms


def _find_readers(session: Session, leader: LeaderNode, deadline: Deadline, now_ms: int) -> Operation[int]:
    """Look up the nodes besides the leader; returns the driver's clock."""
    lookups = []
    # The list grows: nodes name others.
    for server in session.servers:
        if server == leader.endpoint:
            continue
        timeout_ms = min(session.settings.patience_ms, deadline.left_ms(now_ms) // 2)
        try:
            lookup = yield from session.look_up_leader(server, timeout_ms)
        except ConfigError:
            continue  # A node of another cluster, at an endpoint of this one, serves no fetch of this one.
        now_ms = lookup.now_ms
        if lookup.is_ours:
            lookups.append((server, lookup))
    session.readers.found(lookups, session.servers, now_ms)
    return now_ms
