"""Carries out the steps of a session, except for the waiting: the part that all drivers of a client share.

A call is a generator. It yields what to wait for, is sent the time when that has come, and returns the call's result:

    waits = driver.call(now_ms(), calls.append, batch)
    try:
        wait = next(waits)
        while True:
            ...                                 # wait, and meanwhile move the bytes of `wait.transport.exchange`
            wait = waits.send(now_ms())
    except StopIteration as end:
        return end.value
    finally:
        waits.close()                           # closes the connection of a request that is given up

Nothing here blocks, reads a clock or opens a socket. `raft.client.blocking` waits in a thread and
`raft.client.asynchronous` in a task. A driver that is called back holds the generator, and resumes it when the exchange
has ended or the driver's own timer has expired, whichever comes first. If it is resumed early, it yields the same wait.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, assert_never

from raft.client.exchange import Exchange
from raft.client.failures import NOT_CONNECTED, TIMED_OUT, in_words
from raft.client.session import Deadline, Session
from raft.client.steps import Ask, Await, GiveUp, Operation, Pause, Reply, Result, Step
from raft.codec import Message
from raft.errors import CONNECT_ERRORS, AuthenticationError, LocalProtocolError, ProtocolError
from raft.types import Endpoint

Arguments = ParamSpec("Arguments")

Call: TypeAlias = Callable[Concatenate[Session, Deadline, Arguments], Operation[Result]]
"""One of `raft.client.calls`."""


class Transport(Protocol):
    """Moves the bytes of one exchange; opens its connection as soon as it is waited for, or earlier."""

    @property
    def exchange(self) -> Exchange:
        """What the bytes are about."""
        ...

    def close(self) -> None:
        """Close the connection, whether it is open, being opened or lost."""
        ...


AnyTransport = TypeVar("AnyTransport", bound=Transport)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """Wait until this time."""

    until_ms: int

    def is_needed(self, now_ms: int) -> bool:
        """Whether the time has not come yet."""
        return now_ms < self.until_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class AwaitExchange(Generic[AnyTransport]):
    """Wait until the request of the transport's exchange is no longer in flight, or until this time.

    Fields:
        endpoint: the node that the request was sent to.
        transport: the connection to it.
        until_ms: the time.
    """

    endpoint: Endpoint
    transport: AnyTransport
    until_ms: int

    def is_needed(self, now_ms: int) -> bool:
        """Whether the request is still in flight, and the time has not come yet."""
        return now_ms < self.until_ms and self.transport.exchange.is_in_flight


Wait: TypeAlias = Sleep | AwaitExchange[AnyTransport]


class Driver(Generic[AnyTransport]):
    """One session with its connections, for one call at a time.

    Args:
        session: makes the decisions.
        open_transport: makes the transport of a new connection to a node.

    Attributes:
        transports: the connections, by their node's endpoint. One that was lost while no request was in flight stays
            until the next request to its node.
    """

    def __init__(self, session: Session, open_transport: Callable[[Endpoint], AnyTransport]) -> None:
        self._session = session
        self._open_transport = open_transport
        self.transports: dict[Endpoint, AnyTransport] = {}
        self._throttled_until_ms: dict[Endpoint, int] = {}

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        for endpoint in list(self.transports):
            self._close(endpoint)

    def call(
        self,
        now_ms: int,
        begin: Call[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Generator[Wait[AnyTransport], int, Result]:
        """Carry out a call, see the module; it raises what the call raises.

        Raises:
            LocalProtocolError: also if the node supports no version in which a request can be written, unless the
                request `may_be_unsupported`.
        """
        deadline = Deadline(started_ms=now_ms, timeout_ms=self._session.settings.api_timeout_ms)
        operation = begin(self._session, deadline, *args, **kwargs)
        try:
            step = next(operation)
            while True:
                if isinstance(step, Ask) and (until_ms := self._throttled_until_ms.pop(step.endpoint, 0)) > now_ms:
                    deadline.extend(until_ms - now_ms)
                    while now_ms < until_ms:
                        now_ms = yield Sleep(until_ms=until_ms)
                wait = self._begin(step, now_ms)
                while wait is not None and wait.is_needed(now_ms):
                    now_ms = yield wait
                step = operation.send(self._outcome(step, wait, now_ms))
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            self._give_up_requests()

    def _begin(self, step: Step, now_ms: int) -> Wait[AnyTransport] | None:
        """Carry out a step up to the point where it has to wait; return what to wait for."""
        match step:
            case Ask():
                transport = self._usable_transport(step.endpoint)
                transport.exchange.begin(step.request, now_ms=now_ms, deadline_ms=now_ms + step.timeout_ms)
                return _await(step, transport, now_ms)
            case Await():
                return _await(step, self.transports[step.endpoint], now_ms)
            case Pause():
                return Sleep(until_ms=now_ms + step.duration_ms)
            case GiveUp():
                self._close(step.endpoint)
                return None
            case _:
                assert_never(step)

    def _usable_transport(self, endpoint: Endpoint) -> AnyTransport:
        """Return the transport to a node; a new one if the connection was lost while no request was in flight."""
        transport = self.transports.get(endpoint)
        if transport is None or transport.exchange.error is not None:
            self._close(endpoint)
            transport = self.transports[endpoint] = self._open_transport(endpoint)
        return transport

    def _outcome(self, step: Step, wait: Wait[AnyTransport] | None, now_ms: int) -> Reply:
        """Return the outcome of a step, after the wait for it has ended.

        Raises:
            Exception: see `_in_words`.
        """
        if not isinstance(wait, AwaitExchange):
            return Reply(now_ms=now_ms)
        exchange = wait.transport.exchange
        is_in_flight, error = exchange.is_in_flight, exchange.error
        if is_in_flight and now_ms < exchange.deadline_ms:
            return Reply(now_ms=now_ms, is_pending=True, is_connected=exchange.is_connected)
        if is_in_flight or error is not None:
            self._close(wait.endpoint)
        if exchange.response is not None:
            self._note_throttle(wait.endpoint, exchange.response, now_ms)
            return Reply(now_ms=now_ms, response=exchange.response)
        failure = TIMED_OUT if error is None else _in_words(error, step, wait.endpoint)
        if failure == TIMED_OUT and not exchange.is_connected:
            failure = NOT_CONNECTED
        return Reply(now_ms=now_ms, failure=failure, is_connected=exchange.is_connected)

    def _note_throttle(self, endpoint: Endpoint, response: Message, now_ms: int) -> None:
        """Note for how long the node reads no further request of this client, because of a quota (KIP-219)."""
        throttle_ms: int = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self._throttled_until_ms[endpoint] = now_ms + throttle_ms

    def _give_up_requests(self) -> None:
        """Close the connections whose request is still in flight, after an error or a cancellation."""
        in_flight = [endpoint for endpoint, each in self.transports.items() if each.exchange.is_in_flight]
        for endpoint in in_flight:
            self._close(endpoint)

    def _close(self, endpoint: Endpoint) -> None:
        transport = self.transports.pop(endpoint, None)
        if transport is not None:
            transport.close()


def _await(step: Ask | Await, transport: AnyTransport, now_ms: int) -> AwaitExchange[AnyTransport]:
    until_ms = transport.exchange.deadline_ms
    if step.patience_ms is not None:
        until_ms = min(until_ms, now_ms + step.patience_ms)
    return AwaitExchange(endpoint=step.endpoint, transport=transport, until_ms=until_ms)


def _in_words(error: Exception, step: Step, endpoint: Endpoint) -> str:
    """Say why a connection was lost.

    Args:
        error: what ended the connection.
        step: the step whose outcome this is.
        endpoint: the node.

    Raises:
        AuthenticationError: the client or the node has not proved who it is. No retry would change that.
        Exception: the error, if it is our own: no other node would respond either. That a node does not support a
            request that `may_be_unsupported` is no error of our own.
    """
    if isinstance(error, AuthenticationError):
        raise AuthenticationError(f"{endpoint}: {error}") from error
    may_be_unsupported = isinstance(step, Ask) and step.may_be_unsupported
    is_our_own = isinstance(error, LocalProtocolError) and not may_be_unsupported
    if is_our_own or not isinstance(error, (*CONNECT_ERRORS, ProtocolError)):
        raise error
    return in_words(error)
