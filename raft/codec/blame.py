"""Makes the error that names the field and its position from an exception of a generated function."""

from __future__ import annotations

import struct
from functools import reduce

from raft.codec.source import Compiled
from raft.codec.types import UUID
from raft.errors import DecodeError, LocalProtocolError
from raft.uuids import uuid_bytes


def why_not_decoded(decoder: Compiled, error: Exception) -> DecodeError:
    """Return the error for bytes that are not a message.

    Args:
        decoder: the function that raised.
        error: what it raised.
    """
    frame, mark = decoder.failure(error)
    path, position = mark.path, frame.f_locals["position"]
    for part in mark.run:
        path, end = part.path, position + struct.calcsize(f">{part.code}")
        if end > len(frame.f_locals["buffer"]):
            break
        position = end
    reason = str(error) if isinstance(error, ValueError) else "the bytes end too early"
    return DecodeError(f"cannot {decoder.title}: {path or 'the message'} at byte {position}: {reason}")


def why_not_encoded(encoder: Compiled, error: Exception) -> LocalProtocolError:
    """Return the error for a message that cannot be encoded in a version.

    Args:
        encoder: the function that raised.
        error: what it raised.
    """
    frame, mark = encoder.failure(error)
    path = mark.path
    for part in mark.run:
        path = part.path
        holder, *attribute = part.expression.split(".")
        value = reduce(getattr, attribute, frame.f_locals[holder])
        try:
            struct.pack(f">{part.code}", uuid_bytes(value) if part.code == UUID.code else value)
        except (struct.error, ValueError, TypeError, AttributeError):
            break
    return LocalProtocolError(f"cannot {encoder.title}: {path or 'the message'}: {error}")
