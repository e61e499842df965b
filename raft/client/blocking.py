"""The driver of a session for ordinary code: blocking sockets, one thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, assert_never

from raft.client import calls
from raft.client.blocking_connection import BlockingConnection
from raft.client.failures import in_words
from raft.client.results import Appended, BatchPlan, Fetched, FoundOffset, QuorumDescription
from raft.client.session import Deadline, Session
from raft.client.settings import ClientSettings
from raft.client.steps import Ask, Await, GiveUp, Operation, Outcome, Pause, Result, Step
from raft.errors import CONNECT_ERRORS, LocalProtocolError, ProtocolError
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP

Arguments = ParamSpec("Arguments")


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
        self._connections: dict[Endpoint, BlockingConnection] = {}

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
        finally:
            self._give_up_requests()

    def _give_up_requests(self) -> None:
        """Close the connections whose request is still in flight, after an error or Ctrl-C."""
        for endpoint in [endpoint for endpoint, connection in self._connections.items() if connection.is_asking]:
            self._close(endpoint)

    def _carry_out(self, step: Step) -> Outcome:
        match step:
            case Pause():
                time.sleep(step.duration_ms / 1000)
            case GiveUp():
                self._close(step.endpoint)
            case Ask() | Await():
                return self._wait(step)
            case _:
                assert_never(step)
        return Outcome(now_ms=_now_ms())

    def _wait(self, step: Ask | Await) -> Outcome:
        """Wait for an answer, of a new request or of the one in flight."""
        try:
            connection = self._connections.get(step.endpoint)
            if connection is None:
                connection = BlockingConnection(step.endpoint, self.settings.client_id)
                self._connections[step.endpoint] = connection
            if isinstance(step, Ask):
                connection.begin(step.request, step.timeout_ms)
            answer = connection.wait(step.patience_ms)
        except LocalProtocolError:
            raise
        except (*CONNECT_ERRORS, ProtocolError) as error:
            self._close(step.endpoint)
            return Outcome(now_ms=_now_ms(), failure=in_words(error))
        return Outcome(now_ms=_now_ms(), answer=answer, is_pending=answer is None)

    def _close(self, endpoint: Endpoint) -> None:
        connection = self._connections.pop(endpoint, None)
        if connection is not None:
            connection.close()


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
