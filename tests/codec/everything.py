"""A message with a field of every type, in every way a field can be declared."""

from raft.codec import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Message,
    array,
    field,
    message,
    struct,
)
from raft.types import ZERO_UUID, Uuid


@struct
class Part(Message):
    number: int = field(INT32, default=-1)
    label: str | None = field(STRING, nullable="0+", default=None)
    weight: float = field(FLOAT64, versions="2+", tag=0, default=0.5)


@struct
class Box(Message):
    content: Part | None = field(Part, nullable="0+")


@message(versions="0-3", flexible="2+")
class Everything(Message):
    """Versions 0 and 1 have lengths of fixed size and no tagged fields; 1 and 3 have more fields than 0 and 2."""

    flag: bool = field(BOOL)
    tiny: int = field(INT8)
    small: int = field(INT16)
    medium: int = field(INT32)
    large: int = field(INT64)
    port: int = field(UINT16)
    mask: int = field(UINT32)
    ratio: float = field(FLOAT64)
    id: Uuid = field(UUID)
    name: str = field(STRING)
    nickname: str | None = field(STRING, nullable="0+")
    old_name: str | None = field(STRING, nullable="0+", flexible="none")
    blob: bytes = field(BYTES)
    records: bytes | None = field(RECORDS, nullable="0+")
    numbers: tuple[int, ...] = field(array(INT32))
    flags: tuple[bool, ...] | None = field(array(BOOL), nullable="0+")
    ids: tuple[Uuid, ...] = field(array(UUID))
    names: tuple[str, ...] = field(array(STRING))
    blobs: tuple[bytes, ...] = field(array(BYTES))
    part: Part = field(Part)
    maybe_part: Part | None = field(Part, nullable="1+", default=Part())
    parts: tuple[Part, ...] | None = field(array(Part), nullable="0+")
    boxes: tuple[Box, ...] = field(array(Box))

    late: int = field(INT16, versions="1+", default=-1)
    late_id: Uuid = field(UUID, versions="1+", default=ZERO_UUID, ignorable=True)
    late_part: Part = field(Part, versions="1+", default=Part())
    weight: float = field(FLOAT64, versions="1+", default=1.5)
    early: str = field(STRING, versions="0-1", default="", ignorable=True)

    tagged_number: int = field(INT64, versions="2+", tag=3, default=9)
    tagged_text: str | None = field(STRING, versions="2+", nullable="2+", tag=0, default=None)
    tagged_blob: bytes | None = field(BYTES, versions="3+", nullable="3+", tag=200, default=b"default")
    tagged_numbers: tuple[int, ...] = field(array(INT16), versions="3+", tag=4, default=())
    tagged_ids: tuple[Uuid, ...] | None = field(array(UUID), versions="3+", nullable="3+", tag=5, default=None)
    tagged_part: Part = field(Part, versions="3+", tag=6, default=Part())
    maybe_tagged_part: Part | None = field(Part, versions="3+", nullable="3+", tag=7, default=Part())
    tagged_since_3: int = field(INT32, versions="2+", tag=8, tagged="3+", default=0)
