"""Uuids: 16 bytes on the wire, 22 characters of base64url everywhere else.

A node meets very few of them (its topic, the voters' directories), so both ways remember the latest.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from functools import lru_cache

from raft.types import Uuid

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLAIN = str.maketrans("-_", "+/", "+/")


@lru_cache(maxsize=1024)
def uuid_text(raw: bytes) -> Uuid:
    """Write 16 bytes as text."""
    return Uuid(b2a_base64(raw, newline=False).translate(_URL_SAFE, b"=").decode())


@lru_cache(maxsize=1024)
def uuid_bytes(text: Uuid) -> bytes:
    """Read the 16 bytes of a uuid.

    Raises:
        ValueError: the text is not what `uuid_text` would write.
    """
    try:
        raw = a2b_base64(text.translate(_PLAIN) + "==")
    except ValueError as error:
        raise ValueError(f"{text!r} is no uuid") from error
    if len(raw) != 16 or uuid_text(raw) != text:
        raise ValueError(f"{text!r} is no uuid")
    return raw
