"""Uuids: 16 bytes on the wire, 22 characters of base64url without padding everywhere else.

A node uses few different uuids (its topic, the voters' directories), so both conversions remember the latest ones.

Source: Kafka Uuid.toString, Uuid.fromString, Uuid.randomUuid; RFC 4648, section 5.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from functools import lru_cache

from raft.types import Uuid

UUID_BYTES = 16

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = str.maketrans("-_", "+/", "+/")
_FIRST_BIT = 0x80


@lru_cache(maxsize=1024)
def format_uuid(raw: bytes) -> Uuid:
    """Return the text form of 16 bytes."""
    return Uuid(b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode())


@lru_cache(maxsize=1024)
def uuid_bytes(text: str) -> bytes:
    """Return the 16 bytes of a uuid.

    Raises:
        ValueError: the text is not what `format_uuid` returns for any 16 bytes.
    """
    try:
        raw = a2b_base64(text.translate(_PLAIN) + "==")
    except ValueError as error:
        raise ValueError(f"{text!r} is not a uuid") from error
    if len(raw) != UUID_BYTES or format_uuid(raw) != text:
        raise ValueError(f"{text!r} is not a uuid")
    return raw


def parse_uuid(text: str) -> Uuid:
    """Return the uuid that a text is.

    Raises:
        ValueError: the text is not a uuid.
    """
    uuid_bytes(text)
    return Uuid(text)


def new_uuid(entropy: bytes) -> Uuid:
    """Return a new uuid.

    Args:
        entropy: 16 random bytes.
    """
    assert len(entropy) == UUID_BYTES, f"a uuid has {UUID_BYTES} bytes, not {len(entropy)}"
    uuid = format_uuid(entropy)
    if uuid.startswith("-"):
        # A command line would take a leading "-" for an option. Kafka draws again; another first bit is enough.
        return format_uuid(bytes((entropy[0] ^ _FIRST_BIT,)) + entropy[1:])
    return uuid
