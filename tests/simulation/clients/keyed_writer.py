"""A writer of exactly-once keys, like the sink of a streaming query; it uses this project's client."""

from __future__ import annotations

from raft.client import calls
from raft.client.results import Appended
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, RaftError, RequestError
from raft.types import Batch, LeaderAndEpoch
from raft.writers import WriteKey
from tests.simulation.clients.our_client import OurClient
from tests.simulation.clients.writer import Write, Writer, WriterWorld

_RESTART_PERCENT = 15
"""How often a driver restarts from a checkpoint that is not the newest."""

_COPY_PERCENT = 30
"""How often that driver runs another query from a copy of the checkpoint, with other rows."""

_KEPT_BATCHES = 4
_MAX_VERSION_STEP = 3
"""Versions may be skipped: an empty micro-batch writes nothing."""


class KeyedWriter(Writer):
    """Writes one version after the other, and sometimes repeats old ones, like a driver that was restarted.

    Sometimes a driver with a copy of the checkpoint writes other rows under the last version. A failed call is made
    again, because its outcome is unknown.

    Args:
        name: the name of the writer.
        client: its client.
        world: the parts of the world that it uses.
    """

    def __init__(self, name: str, client: OurClient, world: WriterWorld) -> None:
        super().__init__(name, world)
        self._client = client
        self._next_version = 0
        self._made: list[Batch] = []
        self._last_version = 0

    def _make_more(self) -> None:
        if self.has_unsettled:
            return
        if self._made and self._dice.chance(_RESTART_PERCENT):
            if self._dice.chance(_COPY_PERCENT):
                self._write(self._make_batch(self._last_version, "copy"))
                return
            for batch in self._made[-1 - self._dice.draw(len(self._made)) :]:
                self._write(batch)
            return
        self._last_version = self._next_version
        self._next_version += 1 + self._dice.draw(_MAX_VERSION_STEP)
        self._made = [*self._made, self._make_batch(self._last_version, "row")][-_KEPT_BATCHES:]
        self._write(self._made[-1])

    def _make_batch(self, version: int, word: str) -> Batch:
        key = WriteKey(self.name, version)
        return self._batch_of(
            [f"{key.writer_id}/{version}/{word} {row}".encode() for row in range(1 + self._dice.draw(2))],
            producer_id=key.producer_id,
            producer_epoch=key.producer_epoch,
            base_sequence=key.base_sequence,
        )

    def _send(self, write: Write) -> None:
        if self._client.is_busy:
            return  # it is sent when the write before it is settled
        self._client.call(
            lambda appended: self._on_appended(write, appended),
            lambda error: self._on_error(write, error),
            calls.append,
            write.batch.payload,
        )

    def _on_appended(self, write: Write, appended: Appended) -> None:
        error = ErrorCode.DUPLICATE_SEQUENCE_NUMBER if appended.is_superseded else ErrorCode.NONE
        base_offset = None if appended.is_superseded else appended.base_offset
        self._settle(write, AppendResponse(error=error, base_offset=base_offset, leader=self._leader))
        self._send_next()

    def _on_error(self, write: Write, error: RaftError) -> None:
        if isinstance(error, RequestError) and error.code == ErrorCode.DUPLICATE_RESOURCE:
            response = AppendResponse(error=error.code, leader=self._leader)
            self._settle(write, response)
        self._send_next()

    @property
    def _leader(self) -> LeaderAndEpoch:
        return LeaderAndEpoch(epoch=self._client.session.epoch, leader_id=None)

    def _send_next(self) -> None:
        if self._in_flight:
            self._timeline.after(self._plan.retry_ms, self._send_oldest)

    def _send_oldest(self) -> None:
        if self._in_flight:
            self._send(self._in_flight[0])
