"""A writer that writes long after everybody else, by its timestamps."""

from __future__ import annotations

from raft.defaults import WRITER_EXPIRATION_MS
from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.types import Batch
from raft.writers import WriteKey
from tests.simulation.clients.writer import Writer


class Latecomer(Writer):
    """Makes one write, with which log time passes every writer by."""

    def _make_more(self) -> None:
        key = WriteKey(self.name, 1)
        payload = build_batch(
            [Record(value=b"much later", timestamp_ms=self._wall_clock_ms + WRITER_EXPIRATION_MS)],
            producer_id=key.producer_id,
            producer_epoch=key.producer_epoch,
            base_sequence=key.base_sequence,
        )
        self._write(Batch(header=read_header(payload), payload=payload))
