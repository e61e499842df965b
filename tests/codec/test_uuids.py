"""Uuids as text and as bytes."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.codec.uuids import uuid_bytes, uuid_text
from raft.types import ZERO_UUID, Uuid
from tests.codec.strategies import MANY


@MANY
@given(st.binary(min_size=16, max_size=16))
def test_uuid_text_is_base64url_without_padding(raw: bytes) -> None:
    text = uuid_text(raw)

    assert text == base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert uuid_bytes(text) == raw


def test_zero_uuid_is_sixteen_zero_bytes() -> None:
    assert uuid_bytes(ZERO_UUID) == bytes(16)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAA", id="too short"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAAAAA", id="too long"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAAB", id="bits beyond the sixteen bytes"),
        pytest.param("AAAAAAAAAAAAAAAAAAAA++", id="the alphabet of plain base64"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAA=", id="padding"),
        pytest.param("AAAAAAAAAAAAAAAAAAAAAé", id="other letters"),
    ],
)
def test_uuid_bytes_refuses_what_is_no_uuid(text: str) -> None:
    with pytest.raises(ValueError, match="is no uuid"):
        uuid_bytes(Uuid(text))
