"""Uuids as text and as bytes."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.types import ZERO_UUID
from raft.uuids import format_uuid, new_uuid, parse_uuid, uuid_bytes
from tests.codec.strategies import MANY


@MANY
@given(st.binary(min_size=16, max_size=16))
def test_uuid_text_is_base64url_without_padding(raw: bytes) -> None:
    text = format_uuid(raw)

    assert text == base64.urlsafe_b64encode(raw).decode().rstrip("=")
    assert uuid_bytes(text) == raw
    assert parse_uuid(text) == text


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
def test_uuid_is_refused_when_it_is_not_the_text_of_sixteen_bytes(text: str) -> None:
    with pytest.raises(ValueError, match="is not a uuid"):
        uuid_bytes(text)
    with pytest.raises(ValueError, match="is not a uuid"):
        parse_uuid(text)


def test_new_uuid_never_begins_with_a_dash() -> None:
    uuids = [new_uuid(bytes((first,)) + bytes(15)) for first in range(256)]

    assert len(set(uuids)) >= 252
    assert not [uuid for uuid in uuids if uuid.startswith("-") or len(uuid) != 22]
