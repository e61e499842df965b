"""A writer whose timestamps are so late that all other writers expire."""

from __future__ import annotations

from raft.defaults import WRITER_EXPIRATION_MS
from raft.writers import WriteKey
from tests.simulation.clients.keyed_writer import KeyedWriter


class LateWriter(KeyedWriter):
    """Makes one write, which advances log time past the expiration of every writer."""

    def _make_more(self) -> None:
        key = WriteKey(self.name, 1)
        self._write(
            self._batch_of(
                [b"much later"],
                producer_id=key.producer_id,
                producer_epoch=key.producer_epoch,
                base_sequence=key.base_sequence,
                late_ms=WRITER_EXPIRATION_MS,
            )
        )
