"""Keys of keyed writes, and how they lie in the header of a record batch.

producerId     int64   2^62 + the first 62 bits of SHA-256(writer id)
producerEpoch  int16   version >> 31
baseSequence   int32   version & (2^31 - 1)
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from raft.types import FIRST_KEYED_PRODUCER_ID

_SEQUENCE_BITS = 31
MAX_VERSION = (1 << (15 + _SEQUENCE_BITS)) - 1


@dataclass(frozen=True, slots=True)
class WriteKey:
    """One write of one writer.

    Args:
        writer_id: names the writer for ever, such as a streaming query's id.
        version: rises with each write, from 0 to `MAX_VERSION`; the same write repeated keeps its version.

    Raises:
        ValueError: the version is out of range.
    """

    writer_id: str
    version: int

    def __post_init__(self) -> None:
        if not 0 <= self.version <= MAX_VERSION:
            raise ValueError(f"write version {self.version}: expected 0 to {MAX_VERSION}")

    @property
    def producer_id(self) -> int:
        """The writer, as the batch header names it."""
        digest = sha256(self.writer_id.encode()).digest()
        return FIRST_KEYED_PRODUCER_ID | (int.from_bytes(digest[:8], "big") >> 2)

    @property
    def producer_epoch(self) -> int:
        """Upper bits of the version."""
        return self.version >> _SEQUENCE_BITS

    @property
    def base_sequence(self) -> int:
        """Lower 31 bits of the version."""
        return self.version & ((1 << _SEQUENCE_BITS) - 1)


def version_of(producer_epoch: int, base_sequence: int) -> int:
    """The version that these two header fields hold."""
    return (producer_epoch << _SEQUENCE_BITS) | base_sequence
