"""The client for ordinary code: blocking sockets, one thread."""

from __future__ import annotations

import logging
import os
import time
from types import TracebackType
from typing import Self, assert_never

from raft.client import calls, descriptions
from raft.client.blocking_connection import BlockingConnection
from raft.client.driver import Arguments, AwaitExchange, Call, Driver, Sleep
from raft.client.exchange import Exchange
from raft.client.results import Appended, BatchPlan, Fetched, FoundOffset, QuorumDescription
from raft.client.session import Session
from raft.client.settings import ClientSettings
from raft.client.steps import Result
from raft.config.paths import file_path
from raft.config.security import NO_SECURITY
from raft.security.client_protection import ClientProtection
from raft.security.references import Locate
from raft.types import Endpoint, Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.list_offsets import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from raft.writers import WriteId

_logger = logging.getLogger(__name__)


class Client:
    """A client of one quorum, for one thread at a time.

        with Client("localhost:9092") as client:
            fetched = client.fetch(Offset(0))

    Args:
        settings: where the quorum is, and how long to wait for it; or only the nodes to ask first, as
            "host:port,host:port,...".
        epoch: the highest leader epoch known from before, such as from a checkpoint. Responses of leaders of lower
            epochs are not accepted.
        locate: finds the files that the settings name, such as certificates.
    """

    def __init__(self, settings: ClientSettings | str, *, epoch: Epoch = Epoch(0), locate: Locate = file_path) -> None:
        self.settings = settings = ClientSettings.of(settings) if isinstance(settings, str) else settings
        self._session = Session(settings, epoch=epoch, turn=os.getpid(), report=_logger.warning)
        self._driver = Driver(self._session, self._open_connection)
        self._protection = ClientProtection(settings.security or NO_SECURITY, locate, _logger.warning)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; a later call opens new ones."""
        self._driver.close()

    @property
    def cluster_id(self) -> str | None:
        """The id of the cluster; None before the first response."""
        return self._session.cluster_id

    @property
    def epoch(self) -> Epoch:
        """The highest leader epoch seen."""
        return self._session.epoch

    def start_over(self, *, cluster_id: str | None = None, epoch: Epoch = Epoch(0)) -> None:
        """Forget what responses said about the quorum. Connections stay open.

        Args:
            cluster_id: the only cluster whose responses are accepted, such as from a checkpoint; None accepts any.
            epoch: the lowest leader epoch whose responses are accepted, such as from a checkpoint.
        """
        self._session.start_over(cluster_id=cluster_id, epoch=epoch)

    def append(self, batch: bytes, *, transactional_id: str | None = None) -> Appended:
        """See `raft.client.calls.append`."""
        return self.call(calls.append, batch, transactional_id=transactional_id)

    def abort_write(self, write: WriteId) -> None:
        """See `raft.client.calls.abort_write`."""
        self.call(calls.abort_write, write)

    def new_producer_id(self) -> int:
        """See `raft.client.calls.new_producer_id`."""
        return self.call(calls.new_producer_id)

    def feature_level(self) -> int:
        """See `raft.client.calls.feature_level`."""
        return self.call(calls.feature_level)

    def fetch(self, start_offset: Offset, *, max_bytes: int = 1 << 20, max_wait_ms: int = 500) -> Fetched:
        """See `raft.client.calls.fetch_committed`."""
        return self.call(calls.fetch_committed, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms)

    def leave_reader(self, reader: Endpoint) -> None:
        """Do not fetch from a node for some time, because it sent damaged records; see `Fetched.reader`."""
        self._session.readers.failed(reader)

    def log_start_offset(self) -> Offset:
        """The first offset of the log."""
        found = self.find_offset(EARLIEST_TIMESTAMP)
        assert found is not None, "a log has a start"
        return found.offset

    def last_stable_offset(self) -> Offset:
        """The end of what can be read: everything below is committed, and no transaction is open there."""
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
        max_bytes: int | None = None,
        end_offset: Offset | None = None,
    ) -> BatchPlan:
        """See `raft.client.calls.plan_batch`."""
        return self.call(
            calls.plan_batch,
            start_offset=start_offset,
            epoch=epoch,
            max_records=max_records,
            max_bytes=max_bytes,
            end_offset=end_offset,
        )

    def describe_quorum(self) -> QuorumDescription:
        """See `raft.client.descriptions.describe_quorum`."""
        return self.call(descriptions.describe_quorum)

    def call(self, begin: Call[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Carry out one of `raft.client.calls`; it raises what that raises.

        Args:
            begin: the call.
            args: its arguments after session and deadline.
            kwargs: its keyword arguments.
        """
        waits = self._driver.call(_now_ms(), begin, *args, **kwargs)
        try:
            wait = next(waits)
            while True:
                match wait:
                    case AwaitExchange():
                        wait.transport.wait(wait.until_ms)
                    case Sleep():
                        time.sleep(max(wait.until_ms / 1000 - time.monotonic(), 0))
                    case _:
                        assert_never(wait)
                wait = waits.send(_now_ms())
        except StopIteration as end:
            result: Result = end.value
            return result
        finally:
            waits.close()

    def _open_connection(self, endpoint: Endpoint) -> BlockingConnection:
        protection = self._protection.of_connection(endpoint.host)
        return BlockingConnection(endpoint, Exchange(self.settings.client_id, protection))


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
