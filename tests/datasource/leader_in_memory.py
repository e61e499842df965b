"""A client whose leader is a core without a disk: it is the only voter, and commits at once."""

from __future__ import annotations

from raft.client import WRITES_LEVEL, WriteId
from raft.client.results import Appended
from raft.core.effects import AppendBatches, Effect, FlushLog, SendResponse
from raft.core.events import AppendRequested, Event, LogFlushed, TransactionEndRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, refusal
from raft.records.batch import read_records
from raft.records.produced import read_produced_batch
from raft.types import Batch, BatchHeader, ControlType
from tests.core.builder import a_leader


class LeaderInMemory:
    """Appends what the leader accepts.

    Args:
        level: of the feature of this project.
        max_bytes: largest batch.

    Attributes:
        batches: the batches of clients, in the order of the log.
    """

    def __init__(self, *, level: int = WRITES_LEVEL, max_bytes: int = 8 << 20) -> None:
        self._level = level
        self._max_bytes = max_bytes
        self._node = a_leader(epoch=1, voters=(1,))
        self.batches: list[Batch] = []
        self.cluster_id = "in memory"

    @property
    def log(self) -> list[BatchHeader]:
        """The headers of the batches of clients."""
        return [batch.header for batch in self.batches]

    @property
    def open_parts(self) -> int:
        """How many parts are open."""
        return len(self._node.core.transactions.transactions)

    def values(self) -> list[bytes | None]:
        """The values of the records that a reader of committed transactions sees, in the order of the log."""
        committed: set[int] = set()
        for batch in self.batches:
            commit = batch.header.control_value
            committed |= {part.producer_id for part in getattr(commit, "parts", ())}
        return [
            record.value
            for batch in self.batches
            if not batch.header.is_control
            if not batch.header.is_transactional or batch.header.producer_id in committed
            for record in read_records(batch.payload)
        ]

    def feature_level(self) -> int:
        """See `Client.feature_level`."""
        return self._level

    def append(self, batch: bytes, *, transactional_id: str | None = None) -> Appended:
        """See `Client.append`."""
        produced = read_produced_batch(batch, max_batch_bytes=self._max_bytes)
        event = AppendRequested(request_id=1, batch=produced, timeout_ms=1, transactional_id=transactional_id)
        response = self._handle(event)
        if response.error not in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            name = ErrorCode(response.error).name
            raise refusal(ErrorCode(response.error), f"{name}: {response.message}")
        assert response.base_offset is not None, "it is committed"
        return Appended(base_offset=response.base_offset, is_superseded=response.error != ErrorCode.NONE)

    def abort_write(self, write: WriteId) -> None:
        """See `Client.abort_write`."""
        event = TransactionEndRequested(
            request_id=1,
            transactional_id=write.transactional_id,
            producer_id=write.producer_id,
            producer_epoch=0,
            end=ControlType.ABORT,
            timeout_ms=1,
        )
        self._handle(event)

    def _handle(self, event: Event) -> AppendResponse:
        effects = self._node.core.handle(event, 100)
        responses: list[Effect] = list(effects)
        for effect in effects:
            if isinstance(effect, AppendBatches):
                self.batches += [batch for batch in effect.batches if isinstance(batch, Batch)]
            if isinstance(effect, FlushLog):
                flushed = LogFlushed(number=effect.number, end_offset=effect.end_offset)
                responses += self._node.core.handle(flushed, 100)
        (response,) = (each.response for each in responses if isinstance(each, SendResponse))
        assert isinstance(response, AppendResponse), "the response to a change of the log"
        return response
