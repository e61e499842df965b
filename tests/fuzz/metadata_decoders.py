"""The values of metadata records: every type in every version, and records that are not known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from raft.errors import DecodeError
from raft.metadata.record import MetadataRecord, UnknownRecord, read_metadata_record, write_metadata_record
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.metadata.messages import EDITIONS, of_record_type

_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=64)
"""An unknown tag takes at least two bytes and a struct in an array three; they become tuples and objects."""

_WRITE_BOUND = MemoryBound(fixed_bytes=64 << 10, per_byte=4 * _BOUND.per_byte)
"""The bytes are read twice, and written in small pieces in between."""


def read_and_write(content: bytes) -> object:
    """Read a record, write it and read it again."""
    record = read_metadata_record(content)
    written = write_metadata_record(record)
    assert write_metadata_record(read_metadata_record(written)) == written, "it is not what it was when written"
    return record


def _samples(decode: Callable[[bytes], object]) -> Iterator[Sample]:
    for record_type, version in EDITIONS:
        for message in of_record_type(record_type, version):
            value = write_metadata_record(MetadataRecord(version=version, message=message))
            yield Sample(name=f"{record_type.name} v{version}", content=value, decode=decode)
    unknown = write_metadata_record(UnknownRecord(type=300, version=7, payload=bytes(range(40))))
    yield Sample(name="an unknown type", content=unknown, decode=decode)
    yield Sample(name="the frame of the preview", content=b"\x00" + unknown[1:], decode=decode, is_refused=True)


METADATA_DECODERS = (
    Decoder(
        name="metadata records",
        samples=tuple(_samples(read_metadata_record)),
        refusals=(DecodeError,),
        bound=_BOUND,
    ),
    Decoder(
        name="metadata records written again",
        samples=tuple(_samples(read_and_write)),
        refusals=(DecodeError,),
        bound=_WRITE_BOUND,
    ),
)
