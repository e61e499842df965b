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
        """Append one batch, which carries the key of its writer, and wait until it is committed.

        When a response is lost, the same bytes are sent again: the leader recognizes the key. `Producer` and
        `Transaction` make such batches of records.

        Args:
            batch: one record batch.
            transactional_id: for a transactional batch, that of its transaction.

        Raises:
            RequestError: the leader refuses the batch, and a retry cannot change that.
            QuorumUnavailableError: no response in time; whether the batch was appended is unknown.
            ConfigError: the quorum is another cluster, hosts another topic, or is one of Apache Kafka.
        """
        return self.call(calls.append, batch, transactional_id=transactional_id)

    def abort_write(self, write: WriteId) -> None:
        """Abort all open parts of a multipart write, and wait until that is committed. A committed write stays.

        Args:
            write: the write.

        Raises:
            RequestError: the leader refuses the request.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, hosts another topic, or is one of Apache Kafka.
        """
        self.call(calls.abort_write, write)

    def new_producer_id(self) -> int:
        """Get a producer id for idempotent appends. Its first batch has producer epoch 0 and sequence 0.

        Raises:
            RequestError: the leader refuses the request.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, hosts another topic, or is one of Apache Kafka.
        """
        return self.call(calls.new_producer_id)

    def feature_level(self) -> int:
        """Return the level of this project's feature at the leader (see `raft.wire.features`); 0 for other software.

        Raises:
            QuorumUnavailableError: no response in time.
        """
        return self.call(calls.feature_level)

    def fetch(self, start_offset: Offset, *, max_bytes: int = 1 << 20, max_wait_ms: int = 500) -> Fetched:
        """Fetch committed batches, beginning with the one that has `start_offset`. `Reader` makes records of them.

        Args:
            start_offset: the first offset to fetch; the first batch may begin before it.
            max_bytes: the largest size of all batches; a first batch above it is returned by itself.
            max_wait_ms: how long to wait for the first batch, if none is committed yet.

        Raises:
            OffsetOutOfRangeError: the offset is before the start or after the end of the log.
            DamagedRecordsError: no node that was asked can read these records from its disk.
            RequestError: the client may not read, for example.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, or hosts another topic.
        """
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
        """Ask the leader for the offset of the first record with this timestamp or a later one.

        The last stable offset is linearizable at a leader of this project: it includes every write that was
        acknowledged before the call and does not follow an open transaction (READ-1).

        Args:
            timestamp: in ms since 1970, UTC; or EARLIEST_TIMESTAMP for the log start offset, LATEST_TIMESTAMP for the
                last stable offset.

        Returns:
            None if no committed record has such a timestamp.

        Raises:
            RequestError: the client may not read, for example.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, or hosts another topic.
        """
        return self.call(calls.find_offset, timestamp)

    def end_of_epoch(self, epoch: Epoch) -> OffsetAndEpoch | None:
        """Find the largest epoch up to `epoch` and the end of its committed records.

        An Apache Kafka cluster may name a later epoch (`raft.client.controllers`).

        Args:
            epoch: the epoch.

        Returns:
            None if the epoch has not begun.

        Raises:
            RequestError: the client may not read, for example.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, or hosts another topic.
        """
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
        """Plan the next batch of a stream. A leader of this project needs one request for it (CLIENT-15).

        Any other leader needs three, for the bounds of its log and the end of the epoch; its plan has no start and end.

        Args:
            start_offset: where the batch starts.
            epoch: the epoch of the record before it, as far as it is known; the leader says where that epoch ends.
            max_records: the largest number of data records in the batch; None for any number.
            max_bytes: the largest size of the batch as it is stored, unless its first record batch is larger; None for
                any.
            end_offset: the latest end of the batch; None for the last stable offset.

        Raises:
            RequestError: the client may not read, for example.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, or hosts another topic.
        """
        return self.call(
            calls.plan_batch,
            start_offset=start_offset,
            epoch=epoch,
            max_records=max_records,
            max_bytes=max_bytes,
            end_offset=end_offset,
        )

    def describe_quorum(self) -> QuorumDescription:
        """Ask the leader for the voters and observers, and how far each has the log.

        Raises:
            RequestError: the client may not describe the quorum.
            QuorumUnavailableError: no response in time.
            ConfigError: the quorum is another cluster, or hosts another topic.
        """
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
