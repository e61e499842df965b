"""The messages of SASL: their bytes, as in Kafka's definitions, and what they show of themselves."""

from __future__ import annotations

import pytest

from raft.codec import Message, decode, encode
from raft.errors import DecodeError
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

TOKEN = b"\0alice\0secret"
ANSWER = SaslAuthenticateResponse(error_code=0, error_message=None, auth_bytes=b"ab", session_lifetime_ms=7)


@pytest.mark.parametrize(
    ("message", "version", "content"),
    [
        pytest.param(SaslHandshakeRequest(mechanism="PLAIN"), 1, b"\x00\x05PLAIN", id="handshake"),
        pytest.param(
            SaslHandshakeResponse(error_code=33, mechanisms=("A", "BC")),
            1,
            b"\x00\x21\x00\x00\x00\x02\x00\x01A\x00\x02BC",
            id="handshake response",
        ),
        pytest.param(SaslAuthenticateRequest(auth_bytes=b"ab"), 0, b"\x00\x00\x00\x02ab", id="token"),
        pytest.param(SaslAuthenticateRequest(auth_bytes=b"ab"), 2, b"\x03ab\x00", id="token, flexible"),
        pytest.param(
            SaslAuthenticateResponse(error_code=58, error_message="no", auth_bytes=b"", session_lifetime_ms=0),
            0,
            b"\x00\x3a\x00\x02no\x00\x00\x00\x00",
            id="refusal, without a lifetime",
        ),
        pytest.param(ANSWER, 1, b"\x00\x00\xff\xff\x00\x00\x00\x02ab\x00\x00\x00\x00\x00\x00\x00\x07", id="answer"),
        pytest.param(ANSWER, 2, b"\x00\x00\x00\x03ab\x00\x00\x00\x00\x00\x00\x00\x07\x00", id="answer, flexible"),
    ],
)
def test_message_has_the_bytes_of_kafka(message: Message, version: int, content: bytes) -> None:
    assert encode(message, version) == content
    assert decode(type(message), version, content) == message


@pytest.mark.rule("AUTH-9")
def test_lifetime_is_left_out_of_the_oldest_version() -> None:
    assert decode(SaslAuthenticateResponse, 0, encode(ANSWER, 0)).session_lifetime_ms == 0


def test_versions_are_those_that_are_announced() -> None:
    assert (SASL_HANDSHAKE.versions.lowest, SASL_HANDSHAKE.versions.highest) == (0, 1)
    assert (SASL_AUTHENTICATE.versions.lowest, SASL_AUTHENTICATE.versions.highest) == (0, 2)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.rule("AUTH-12")
def test_message_that_ends_early_is_refused_without_its_content(version: int) -> None:
    content = encode(SaslAuthenticateRequest(auth_bytes=TOKEN), version)
    for length in range(len(content)):
        with pytest.raises(DecodeError) as refused:
            decode(SaslAuthenticateRequest, version, content[:length])

        assert "secret" not in str(refused.value)


@pytest.mark.rule("AUTH-12")
def test_message_shows_the_size_of_its_token_only() -> None:
    assert repr(SaslAuthenticateRequest(auth_bytes=TOKEN)) == "SaslAuthenticateRequest(13 bytes)"
    assert repr(ANSWER) == (
        "SaslAuthenticateResponse(error_code=0, error_message=None, 2 bytes, session_lifetime_ms=7)"
    )
