"""A client of this project in virtual time: the session, the calls and the connections that ship."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, ParamSpec, TypeVar

from raft.client.driver import AwaitExchange, Call, Driver, Sleep, Wait
from raft.client.exchange import Exchange
from raft.client.session import Session
from raft.client.settings import ClientSettings
from raft.core.events import Failure
from raft.errors import RaftError
from raft.types import Endpoint
from raft.wire.protection import NO_PROTECTION
from tests.simulation.accepted import ClientConnection
from tests.simulation.invariants.observer import Observer
from tests.simulation.message import Address
from tests.simulation.post_office import PostOffice
from tests.simulation.round_trip import RoundTrip
from tests.simulation.security.identity import Identity
from tests.simulation.timeline import Timeline

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_SIZE_BYTES = 4


class SimulatedTransport:
    """Moves the bytes of one connection through the post office; see `raft.client.driver.Transport`.

    Args:
        address: the address of the client.
        endpoint: the endpoint of the node.
        post_office: carries the frames.
        moved: called when bytes were received, or the connection has failed.
        identity: the user whose name is proved; None in a plan without security.
    """

    def __init__(
        self,
        address: Address,
        endpoint: Endpoint,
        post_office: PostOffice,
        moved: Callable[[], None],
        identity: Identity | None,
    ) -> None:
        self._exchange = Exchange("simulated", NO_PROTECTION if identity is None else identity.protection)
        self._connection = (
            None if identity is None else ClientConnection({identity.user: identity.password}, copied_by=identity)
        )
        self._address = address
        self._endpoint = endpoint
        self._post_office = post_office
        self._moved = moved
        self._in_flight: RoundTrip | None = None

    @property
    def exchange(self) -> Exchange:
        """See `Transport.exchange`."""
        return self._exchange

    def send(self) -> None:
        """Send the bytes of the next request, if there are any; at most one request is in flight."""
        data = self._exchange.data_to_send()
        if data:
            self._in_flight = self._post_office.send_frame(
                self._address,
                self._endpoint,
                data,
                on_response=self._on_response,
                on_failure=self._on_failure,
                connection=self._connection,
            )

    def close(self) -> None:
        """See `Transport.close`."""
        if self._in_flight is not None:
            self._post_office.abandon(self._in_flight)
            self._in_flight = None

    def _on_response(self, frame: bytes) -> None:
        self._in_flight = None
        self._exchange.receive_data(len(frame).to_bytes(_SIZE_BYTES, "big") + frame)
        self.send()
        self._moved()

    def _on_failure(self, failure: Failure) -> None:
        self._in_flight = None
        refused = failure is Failure.CONNECTION_REFUSED
        self._exchange.fail(ConnectionRefusedError(failure.value) if refused else ConnectionError(failure.value))
        self._moved()


class OurClient:
    """Makes one call at a time.

    Args:
        address: the address of the client, below 0.
        settings: the settings of the session.
        post_office: carries requests and responses.
        timeline: virtual time.
        watch: receives the epochs that the session knows.
        identity: its user; None in a plan without security.
    """

    def __init__(
        self,
        address: Address,
        settings: ClientSettings,
        *,
        post_office: PostOffice,
        timeline: Timeline,
        watch: Observer,
        identity: Identity | None = None,
    ) -> None:
        self.address = address
        self._identity = identity
        self.session = Session(settings, turn=-address)
        self._timeline = timeline
        self._post_office = post_office
        self._watch = watch
        self._driver = Driver[SimulatedTransport](self.session, self._open)
        self._waits: Generator[Wait[SimulatedTransport], int, Any] | None = None
        self._done: Callable[[Any], None]
        self._failed: Callable[[RaftError], None]
        self._wait_number = 0
        self._awaited: SimulatedTransport | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a call is not done yet."""
        return self._waits is not None

    def call(
        self,
        done: Callable[[Result], None],
        failed: Callable[[RaftError], None],
        begin: Call[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> None:
        """Begin a call; `done` gets its result, or `failed` its error."""
        assert not self.is_busy, "one call at a time"
        self._done, self._failed = done, failed
        self._waits = self._driver.call(self._timeline.now_ms, begin, *args, **kwargs)
        self._go_on(is_first=True)

    def _open(self, endpoint: Endpoint) -> SimulatedTransport:
        return SimulatedTransport(self.address, endpoint, self._post_office, self._on_moved, self._identity)

    def _go_on(self, *, is_first: bool = False) -> None:
        assert self._waits is not None, "a call is running"
        self._awaited = None
        self._wait_number += 1
        try:
            try:
                wait = next(self._waits) if is_first else self._waits.send(self._timeline.now_ms)
            finally:
                self._watch.session_stepped(str(self.address), self.session.epoch)
        except StopIteration as end:
            self._waits = None
            self._done(end.value)
            return
        except RaftError as error:
            self._waits = None
            self._failed(error)
            return
        self._wait_for(wait)

    def _wait_for(self, wait: Wait[SimulatedTransport]) -> None:
        number = self._wait_number
        self._timeline.at(wait.until_ms, lambda: self._on_time(number))
        match wait:
            case Sleep():
                pass
            case AwaitExchange():
                self._awaited = wait.transport
                wait.transport.send()

    def _on_time(self, number: int) -> None:
        if number == self._wait_number and self._waits is not None:
            self._go_on()

    def _on_moved(self) -> None:
        if self._awaited is not None and not self._awaited.exchange.is_in_flight:
            self._go_on()
