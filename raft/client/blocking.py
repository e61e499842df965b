"""The driver of a session for ordinary code: blocking sockets, one thread."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self

from raft.client import calls
from raft.client.failures import in_words
from raft.client.results import Appended, BatchPlan, Fetched, FoundOffset, QuorumDescription
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Operation, Outcome, Pause, Result
from raft.client.wire_connection import WireConnection
from raft.codec import Message
from raft.errors import CONNECT_ERRORS, LocalProtocolError, ProtocolError
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.api_versions import ApiVersionsRequest
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

Arguments = ParamSpec("Arguments")

_READ_BYTES = 1 << 17


class _Connection:
    """A socket to one node."""

    def __init__(self, endpoint: Endpoint, client_id: str, timeout_ms: int) -> None:
        self._wire = WireConnection(client_id)
        deadline_s = time.monotonic() + timeout_ms / 1000
        self._socket = socket.create_connection((endpoint.host, endpoint.port), timeout=max(timeout_ms, 1) / 1000)
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            hello: bytes | None = self._wire.hello()
            while hello is not None:
                hello = self._wire.on_hello(self._exchange(hello, deadline_s))
        except BaseException:
            self._socket.close()
            raise

    def ask(self, request: Message, timeout_ms: int) -> Message:
        if isinstance(request, ApiVersionsRequest) and self._wire.served is not None:
            return self._wire.served  # asked at the beginning
        frame = self._exchange(self._wire.request(request), time.monotonic() + timeout_ms / 1000)
        return self._wire.answer(frame)

    def close(self) -> None:
        self._socket.close()

    def _exchange(self, data: bytes, deadline_s: float) -> bytes:
        self._wait_until(deadline_s)
        self._socket.sendall(data)
        while True:
            self._wait_until(deadline_s)
            received = self._socket.recv(_READ_BYTES)
            if not received:
                raise ConnectionError("the node closed the connection")
            frames = self._wire.frames(received)
            if frames:
                return frames[0]

    def _wait_until(self, deadline_s: float) -> None:
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)


class Client:
    """A client of one quorum. Not for several threads at once.

        with Client(ClientSettings(bootstrap_servers=(Endpoint("localhost", 9093),))) as client:
            fetched = client.fetch(Offset(0))

    Args:
        settings: where the quorum is.
        epoch: the highest leader epoch known from before, such as a checkpoint's; leaders of lower ones are not
            believed.
    """

    def __init__(self, settings: ClientSettings, *, epoch: Epoch = Epoch(0)) -> None:
        self.settings = settings
        self._session = Session(settings, epoch=epoch)
        self._connections: dict[Endpoint, _Connection] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    @property
    def cluster_id(self) -> str | None:
        """The cluster's id, once a call has been answered."""
        return self._session.cluster_id

    @property
    def epoch(self) -> Epoch:
        """The highest leader epoch seen."""
        return self._session.epoch

    def start_over(self, *, cluster_id: str | None = None, epoch: Epoch = Epoch(0)) -> None:
        """Forget what was learnt from answers; connections stay.

        Args:
            cluster_id: known from elsewhere, such as a checkpoint: no other cluster's answers count.
            epoch: the same of a leader epoch: leaders of lower ones are not believed.
        """
        self._session.start_over(cluster_id=cluster_id, epoch=epoch)

    def append(self, batch: bytes) -> Appended:
        """See `raft.client.calls.append`."""
        return self.call(calls.append, batch)

    def new_producer_id(self) -> int:
        """See `raft.client.calls.new_producer_id`."""
        return self.call(calls.new_producer_id)

    def supports_keyed_writes(self) -> bool:
        """See `raft.client.calls.supports_keyed_writes`."""
        return self.call(calls.supports_keyed_writes)

    def fetch(self, start_offset: Offset, *, max_bytes: int = 1 << 20, max_wait_ms: int = 500) -> Fetched:
        """See `raft.client.calls.fetch_committed`."""
        return self.call(calls.fetch_committed, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms)

    def log_start(self) -> Offset:
        """First offset of the log."""
        found = self.find_offset(EARLIEST_TIMESTAMP)
        assert found is not None, "a log has a start"
        return found.offset

    def log_end(self) -> Offset:
        """End of what is committed, as the leader knows it."""
        found = self.find_offset(LATEST_TIMESTAMP)
        assert found is not None, "a log has an end"
        return found.offset

    def find_offset(self, timestamp: int) -> FoundOffset | None:
        """See `raft.client.calls.find_offset`."""
        return self.call(calls.find_offset, timestamp)

    def end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch | None:
        """See `raft.client.calls.end_of_epoch`."""
        return self.call(calls.end_of_epoch, epoch)

    def plan_batch(
        self,
        start_offset: Offset,
        epoch: Epoch,
        *,
        max_records: int | None = None,
        end_offset: Offset | None = None,
    ) -> BatchPlan:
        """See `raft.client.calls.plan_batch`."""
        return self.call(
            calls.plan_batch, start_offset=start_offset, epoch=epoch, max_records=max_records, end_offset=end_offset
        )

    def describe_quorum(self) -> QuorumDescription:
        """See `raft.client.calls.describe_quorum`."""
        return self.call(calls.describe_quorum)

    def call(
        self,
        begin: Callable[Concatenate[Session, Deadline, Arguments], Operation[Result]],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Carry out one of `raft.client.calls`; it raises what that raises."""
        deadline = Deadline(started_ms=_now_ms(), timeout_ms=self.settings.api_timeout_ms)
        operation = begin(self._session, deadline, *args, **kwargs)
        try:
            step = next(operation)
            while True:
                step = operation.send(self._carry_out(step))
        except StopIteration as end:
            result: Result = end.value
            return result

    def _carry_out(self, step: Ask | Pause) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.duration_ms / 1000)
            return Outcome(now_ms=_now_ms())
        try:
            answer = self._ask(step)
        except LocalProtocolError:
            raise
        except (*CONNECT_ERRORS, ProtocolError) as error:
            connection = self._connections.pop(step.endpoint, None)
            if connection is not None:
                connection.close()
            return Outcome(now_ms=_now_ms(), failure=in_words(error))
        return Outcome(now_ms=_now_ms(), answer=answer)

    def _ask(self, step: Ask) -> Message:
        connection = self._connections.get(step.endpoint)
        if connection is None:
            connection = _Connection(step.endpoint, self.settings.client_id, step.timeout_ms)
            self._connections[step.endpoint] = connection
        return connection.ask(step.request, step.timeout_ms)


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
