"""Every type in every form: to bytes and back, and the bytes themselves."""

from typing import Any

import pytest
from hypothesis import given

from raft.codec import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT16,
    UINT32,
    UUID,
    Message,
    array,
    decode,
    decode_prefix,
    encode,
    encode_pieces,
    field,
    message,
)
from raft.codec.types import WireType
from raft.types import Uuid
from tests.codec.everything import Everything, Part
from tests.codec.samples import sample
from tests.codec.strategies import MANY, messages

VERSIONS = list(Everything.__schema__.versions)


@pytest.mark.parametrize("version", VERSIONS)
def test_message_is_unchanged_after_encode_and_decode(version: int) -> None:
    @MANY
    @given(messages(Everything, version))
    def check(value: Everything) -> None:
        encoded = encode(value, version)

        assert decode_prefix(Everything, version, encoded) == (value, len(encoded))

    check()


def holder_of(type: Any, nullable: str) -> Any:
    """A message with one field; version 0 is not flexible, version 1 is."""

    @message(versions="0-1", flexible="1+")
    class Holder(Message):
        value: Any = field(type, nullable=nullable, default=None)

    return Holder


@pytest.mark.parametrize(
    ("type", "value", "not_flexible", "flexible"),
    [
        pytest.param(BOOL, True, "01", "01 00", id="bool"),
        pytest.param(INT8, -2, "fe", "fe 00", id="int8"),
        pytest.param(INT16, -2, "fffe", "fffe 00", id="int16"),
        pytest.param(INT32, 258, "00000102", "00000102 00", id="int32"),
        pytest.param(INT64, -1, "ffffffffffffffff", "ffffffffffffffff 00", id="int64"),
        pytest.param(UINT16, 65535, "ffff", "ffff 00", id="uint16"),
        pytest.param(UINT32, 1 << 31, "80000000", "80000000 00", id="uint32"),
        pytest.param(FLOAT64, 1.5, "3ff8000000000000", "3ff8000000000000 00", id="float64"),
        pytest.param(UUID, Uuid("AAECAwQFBgcICQoLDA0ODw"), "000102030405060708090a0b0c0d0e0f",
                     "000102030405060708090a0b0c0d0e0f 00", id="uuid"),
        pytest.param(STRING, "é", "0002 c3a9", "03 c3a9 00", id="string"),
        pytest.param(STRING, "", "0000", "01 00", id="empty string"),
        pytest.param(STRING, "x" * 200, "00c8" + "78" * 200, "c901" + "78" * 200 + "00", id="string of 200 bytes"),
        pytest.param(BYTES, b"\x01\x02", "00000002 0102", "03 0102 00", id="bytes"),
        pytest.param(array(INT16), (1, 2), "00000002 0001 0002", "03 0001 0002 00", id="array"),
        pytest.param(array(STRING), ("a", "b"), "00000002 000161 000162", "03 0261 0262 00", id="array of strings"),
        pytest.param(array(INT16), (), "00000000", "01 00", id="empty array"),
    ],
)  # fmt: skip
def test_value_has_the_bytes_of_its_type(type: WireType[Any], value: object, not_flexible: str, flexible: str) -> None:
    holder = holder_of(type, nullable="none")

    for version, expected in enumerate([not_flexible, flexible]):
        assert encode(holder(value=value), version) == bytes.fromhex(expected)
        assert decode(holder, version, bytes.fromhex(expected)) == holder(value=value)


@pytest.mark.parametrize(
    ("type", "not_flexible", "flexible"),
    [
        pytest.param(STRING, "ffff", "00 00", id="string"),
        pytest.param(BYTES, "ffffffff", "00 00", id="bytes"),
        pytest.param(array(INT16), "ffffffff", "00 00", id="array"),
        pytest.param(Part, "ff", "ff 00", id="struct"),
    ],
)
def test_null_has_the_bytes_of_its_type(type: Any, not_flexible: str, flexible: str) -> None:
    holder = holder_of(type, nullable="0+")

    for version, expected in enumerate([not_flexible, flexible]):
        assert encode(holder(value=None), version) == bytes.fromhex(expected)
        assert decode(holder, version, bytes.fromhex(expected)) == holder(value=None)


def test_struct_that_may_be_null_has_a_marker_when_it_is_not() -> None:
    holder = holder_of(Part, nullable="0+")

    assert encode(holder(value=Part(number=5)), 0) == bytes.fromhex("01 00000005 ffff")


def test_decode_starts_at_the_position_it_is_given_and_ignores_what_follows() -> None:
    value = sample(Everything, 3)
    encoded = encode(value, 3)

    decoded, position = decode_prefix(Everything, 3, b"before" + encoded + b"behind", 6)

    assert decoded == value
    assert position == 6 + len(encoded)


def test_large_field_is_a_piece_by_itself() -> None:
    records = bytes(1 << 16)
    holder = holder_of(BYTES, nullable="none")

    pieces = encode_pieces(holder(value=records), 1)

    assert any(piece is records for piece in pieces)
