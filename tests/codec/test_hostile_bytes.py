"""For any bytes, decoding returns a message or raises DecodeError, and makes nothing larger than the bytes."""

import random
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.codec import INT64, STRING, UUID, Message, array, decode, encode, field, message
from raft.codec.decoder import MAX_REQUEST_ELEMENTS
from raft.codec.varint import encode_uvarint
from raft.errors import DecodeError
from raft.types import Uuid
from tests.codec.everything import Everything, Part
from tests.codec.samples import sample
from tests.codec.strategies import MANY

VERSIONS = list(Everything.__schema__.versions)


@pytest.mark.parametrize("version", VERSIONS)
def test_decoder_refuses_message_truncated_at_any_length(version: int) -> None:
    encoded = encode(sample(Everything, version), version)

    for length in range(len(encoded)):
        with pytest.raises(DecodeError):
            decode(Everything, version, encoded[:length])


@pytest.mark.parametrize("version", VERSIONS)
def test_decoder_survives_changed_bytes(version: int) -> None:
    encoded = encode(sample(Everything, version), version)
    dice = random.Random(version)

    for _ in range(1000):
        changed = bytearray(encoded)
        for _ in range(dice.randint(1, 4)):
            changed[dice.randrange(len(changed))] = dice.choice([0, 1, 2, 127, 128, 255, dice.randrange(256)])
        try:
            decoded = decode(Everything, version, bytes(changed))
        except DecodeError:
            continue
        assert type(decoded) is Everything


@pytest.mark.parametrize("version", VERSIONS)
def test_decoder_survives_arbitrary_bytes(version: int) -> None:
    @MANY
    @given(st.binary(max_size=200))
    def check(encoded: bytes) -> None:
        try:
            decoded = decode(Everything, version, encoded)
        except DecodeError:
            return
        assert type(decoded) is Everything

    check()


@message(versions="0-1", flexible="1+")
class Lists(Message):
    numbers: tuple[int, ...] = field(array(INT64))
    ids: tuple[Uuid, ...] = field(array(UUID), default=())
    texts: tuple[str, ...] = field(array(STRING), default=())
    parts: tuple[Part, ...] = field(array(Part), default=())


@pytest.mark.parametrize("position", range(4), ids=["numbers", "uuids", "texts", "structs"])
@pytest.mark.parametrize("count", [40, 1 << 20, (1 << 31) - 2], ids=["one byte", "three bytes", "five bytes"])
@pytest.mark.parametrize("version", [0, 1])
def test_decoder_refuses_count_beyond_the_bytes_left_before_it_makes_room(
    version: int, count: int, position: int
) -> None:
    huge = count.to_bytes(4, "big") if version == 0 else encode_uvarint(count + 1)
    empty = bytes(4) if version == 0 else b"\x01"
    encoded = empty * position + huge + bytes(36)
    decode(Lists, version, empty * 4 + b"\x00")  # The decoder is made now, and not while memory is measured.

    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match=f"a length of {count} with 36 bytes left"):
            decode(Lists, version, encoded)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak_bytes < 100_000


@message(api_key=1, versions="0-1", flexible="1+")
class ListRequest(Message):
    parts: tuple[Part, ...] = field(array(Part), default=())


@pytest.mark.parametrize("version", [0, 1])
def test_decoder_refuses_request_when_it_lists_more_elements_than_allowed(version: int) -> None:
    allowed = ListRequest(parts=(Part(),) * MAX_REQUEST_ELEMENTS)
    too_many = ListRequest(parts=(Part(),) * (MAX_REQUEST_ELEMENTS + 1))

    assert decode(ListRequest, version, encode(allowed, version)) == allowed
    with pytest.raises(DecodeError, match=f"more than {MAX_REQUEST_ELEMENTS} elements"):
        decode(ListRequest, version, encode(too_many, version))
