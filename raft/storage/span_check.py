"""Checks the batches that are read from a segment, before they are sent (LOG-30).

A batch that fails is not sent. Checked are lengths, magic and checksums, that the batches follow one another without a
gap, and their epochs. The offset of the first one follows from the indexed batch before it.
"""

from __future__ import annotations

from crc32c import crc32c

from raft.epoch_cache import EpochCache
from raft.errors import DecodeError
from raft.records.header_fields import CHECKED_FROM, whole_batches
from raft.types import Epoch, Offset

_NO_EPOCH_CHANGE = 1 << 63


class SpanCheck:
    """The check of one read. The pieces may end within a batch.

    Args:
        epochs: the epoch cache of the log; None if the epochs are not checked.
        has_gaps: whether records may be missing between two batches.
        next_offset: of the first batch; None if it is not known.
        last_offset: of the first batch, by the index; None if the index does not have it.

    Attributes:
        checked_bytes: size of the whole batches that are sound.
    """

    def __init__(
        self,
        *,
        epochs: EpochCache | None = None,
        has_gaps: bool = False,
        next_offset: Offset | None = None,
        last_offset: Offset | None = None,
    ) -> None:
        self.checked_bytes = 0
        self._epochs = epochs
        self._has_gaps = has_gaps
        self._next_offset: int | None = next_offset
        self._last_offset: int | None = last_offset
        self._epoch: Epoch | None = None
        self._epoch_ends_at = -1
        self._rest = b""

    def feed(self, piece: bytes) -> None:
        """Check the batches that end within the next piece.

        Raises:
            DecodeError: one of them is damaged; `checked_bytes` is its place.
        """
        data = self._rest + piece if self._rest else piece
        view = memoryview(data)
        at, checked_before = 0, self.checked_bytes
        for start, end, fields in whole_batches(data):
            base_offset, _, epoch, _, checksum, _, delta, _, _, _, _, _, _ = fields
            if delta < 0:
                raise DecodeError(f"batch of {end - start} bytes with last offset delta {delta}")
            self.check_place(base_offset, base_offset + delta, epoch)
            actual = crc32c(view[start + CHECKED_FROM : end])
            if actual != checksum:
                raise DecodeError(f"batch with checksum {actual:08x}, expected {checksum:08x} as in its header")
            at = end
            self.checked_bytes = checked_before + end
        self._rest = data[at:]

    def finish(self) -> None:
        """Make sure that the pieces end with a whole batch.

        Raises:
            DecodeError: they do not.
        """
        if self._rest:
            raise DecodeError(f"{len(self._rest)} bytes are not a batch")

    def check_place(self, base_offset: int, last_offset: int, epoch: int) -> None:
        """Check that a batch follows the one before, and that it has the epoch of the epoch cache.

        Raises:
            DecodeError: it does not.
        """
        expected = self._next_offset
        if base_offset != expected and expected is not None and (base_offset < expected or not self._has_gaps):
            raise DecodeError(f"batch at offset {base_offset}, expected {expected}")
        if self._last_offset is not None:
            if last_offset != self._last_offset:
                raise DecodeError(f"batch with last offset {last_offset}, expected {self._last_offset}")
            self._last_offset = None
        self._next_offset = last_offset + 1
        if self._epochs is None:
            return
        if not 0 <= base_offset < self._epoch_ends_at:
            self._find_epoch(Offset(base_offset))
        if epoch != self._epoch and self._epoch is not None:
            raise DecodeError(f"batch of epoch {epoch} at offset {base_offset}, expected epoch {self._epoch}")

    def _find_epoch(self, offset: Offset) -> None:
        """Find the epoch of an offset, and where the next one begins. Offsets rise from call to call."""
        assert self._epochs is not None, "epochs are checked"
        entries = self._epochs.entries_from(offset)
        first = entries[0] if entries else None
        is_known = first is not None and first.start_offset <= offset
        self._epoch = first.epoch if first is not None and is_known else None
        behind = entries[1:] if is_known else entries
        self._epoch_ends_at = behind[0].start_offset if behind else _NO_EPOCH_CHANGE
