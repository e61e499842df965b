"""Unsigned varints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.codec.varint import UVARINTS, encode_uvarint, read_uvarint
from tests.codec.strategies import MANY


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        pytest.param(0, "00", id="zero"),
        pytest.param(127, "7f", id="largest of one byte"),
        pytest.param(128, "8001", id="smallest of two bytes"),
        pytest.param(300, "ac02", id="two bytes"),
        pytest.param((1 << 32) - 1, "ffffffff0f", id="largest"),
    ],
)
def test_varint_has_the_bytes_of_kip_482(value: int, encoded: str) -> None:
    assert encode_uvarint(value) == bytes.fromhex(encoded)
    assert read_uvarint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@MANY
@given(st.integers(0, (1 << 32) - 1))
def test_varint_is_unchanged_after_encode_and_read(value: int) -> None:
    encoded = encode_uvarint(value)

    assert read_uvarint(b"before" + encoded + b"behind", 6) == (value, 6 + len(encoded))


def test_one_byte_forms_are_those_of_the_encoder() -> None:
    assert list(UVARINTS) == [encode_uvarint(value) for value in range(128)]


@pytest.mark.parametrize(
    "encoded", [pytest.param("ffffffffff01", id="six bytes"), pytest.param("ffffffff10", id="33 bits")]
)
def test_reader_refuses_varints_of_more_than_32_bits(encoded: str) -> None:
    with pytest.raises(ValueError, match="more than 32 bits"):
        read_uvarint(bytes.fromhex(encoded), 0)


def test_reader_refuses_varint_that_is_incomplete() -> None:
    with pytest.raises(IndexError):
        read_uvarint(b"\xff\xff", 0)
