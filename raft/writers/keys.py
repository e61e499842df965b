"""Keys of keyed writes, and how they are stored in the header of a record batch.

producerId     int64   2^62 + the first 62 bits of SHA-256(writer id)
producerEpoch  int16   version >> 31
baseSequence   int32   version & (2^31 - 1)

A part of a multipart write is a transaction under a producer id of its own, which names the write:

producerId     int64   2^61 + 24 bits of SHA-256(producer id of the key, version) + 37 random bits
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from raft.types import FIRST_KEYED_PRODUCER_ID, FIRST_PART_PRODUCER_ID, BatchHeader

_SEQUENCE_BITS = 31
_PART_BITS = 37
PARTS_OF_A_WRITE = 1 << _PART_BITS
"""The random numbers from which the producer id of a part is made: `draw(PARTS_OF_A_WRITE)`."""
_TAGS = 1 << 24
_PREFIX = "kraft-write"
_OF_A_WRITE = re.compile(_PREFIX + ":([1-9][0-9]{0,19}):(0|[1-9][0-9]{0,19})")
"""One text for each write, and no number that takes long to read: clients send texts of 32 KiB."""
MAX_VERSION = (1 << (15 + _SEQUENCE_BITS)) - 1


@dataclass(frozen=True, slots=True)
class WriteKey:
    """One write of one writer.

    Args:
        writer_id: the writer's lasting name, such as the id of a streaming query.
        version: rises with each write, from 0 to `MAX_VERSION`; a repeated write keeps its version.

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
        """The producer id that stands for the writer in the batch header."""
        digest = sha256(self.writer_id.encode()).digest()
        return FIRST_KEYED_PRODUCER_ID | (int.from_bytes(digest[:8], "big") >> 2)

    @property
    def write_id(self) -> WriteId:
        """The write as batch headers name it."""
        return WriteId(self.producer_id, self.version)

    @property
    def producer_epoch(self) -> int:
        """Upper bits of the version."""
        return self.version >> _SEQUENCE_BITS

    @property
    def base_sequence(self) -> int:
        """Lower 31 bits of the version."""
        return self.version & ((1 << _SEQUENCE_BITS) - 1)


def version_of(producer_epoch: int, base_sequence: int) -> int:
    """Return the version that these two header fields hold."""
    return (producer_epoch << _SEQUENCE_BITS) | base_sequence


@dataclass(frozen=True, slots=True)
class WriteId:
    """A keyed write as batch headers name it: the producer id of its writer, and its version."""

    producer_id: int
    version: int

    @classmethod
    def of(cls, header: BatchHeader) -> WriteId:
        """Return the write that a header with a key belongs to."""
        assert header.producer_id is not None, "a keyed write has the producer id of its writer"
        return cls(header.producer_id, version_of(header.producer_epoch, header.base_sequence))

    @classmethod
    def parse(cls, transactional_id: str) -> WriteId | None:
        """Return the write whose parts are appended under a transactional id; None if it is not one of a write."""
        numbers = _OF_A_WRITE.fullmatch(transactional_id)
        if numbers is None:
            return None
        producer_id, version = map(int, numbers.groups())
        if not FIRST_KEYED_PRODUCER_ID <= producer_id < 2 * FIRST_KEYED_PRODUCER_ID or version > MAX_VERSION:
            return None
        return cls(producer_id, version)

    @property
    def transactional_id(self) -> str:
        """The transactional id under which the parts of this write are appended."""
        return f"{_PREFIX}:{self.producer_id}:{self.version}"

    @property
    def tag(self) -> int:
        """What the producer ids of all parts of this write have in common; see `tag_of`."""
        digest = sha256(f"{self.producer_id}:{self.version}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % _TAGS

    def part_producer_id(self, number: int) -> int:
        """Return the producer id of a part.

        Args:
            number: a random number below `PARTS_OF_A_WRITE`, another one for each attempt of a task.
        """
        return FIRST_PART_PRODUCER_ID | self.tag << _PART_BITS | number


def tag_of(part_producer_id: int) -> int:
    """Return the tag of the write that a part belongs to."""
    return (part_producer_id >> _PART_BITS) % _TAGS


def is_reserved(transactional_id: str) -> bool:
    """Whether a transactional id looks like one of a write; Kafka's producers cannot have it."""
    return transactional_id.startswith(_PREFIX + ":")


def is_of_part(producer_id: int) -> bool:
    """Whether a producer id is that of a part of a multipart write."""
    return FIRST_PART_PRODUCER_ID <= producer_id < FIRST_KEYED_PRODUCER_ID


def is_part(header: BatchHeader) -> bool:
    """Whether a batch belongs to a part of a multipart write, or ends one."""
    producer_id = header.producer_id
    return header.is_transactional and producer_id is not None and is_of_part(producer_id)
