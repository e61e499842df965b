"""Encodes and decodes messages, with functions that are generated at their first use."""

from __future__ import annotations

import struct

from raft.codec.blame import why_not_decoded, why_not_encoded
from raft.codec.declaration import AnyMessage, Message
from raft.codec.decoder import write_decoder
from raft.codec.encoder import write_encoder
from raft.codec.schema import Schema
from raft.codec.source import Compiled
from raft.errors import LocalProtocolError

_encoders: dict[tuple[type[Message], int], Compiled] = {}
_decoders: dict[tuple[type[Message], int], Compiled] = {}


def encode(message: Message, version: int) -> bytes:
    """Return the bytes of a message in one of its versions.

    Args:
        message: the message.
        version: the version.

    Raises:
        LocalProtocolError: the message does not have this version; the version lacks a field that is not ignorable and
            does not have its default value (COMPAT-2); or a value does not fit its field. Names the field.
    """
    return b"".join(encode_pieces(message, version))


def encode_pieces(message: Message, version: int) -> list[bytes]:
    """Return the bytes that `encode` returns in pieces, without copies of large fields."""
    encoder = _encoder(type(message), version)
    pieces: list[bytes] = []
    try:
        encoder.function(message, pieces.append)
    except (struct.error, ValueError, TypeError, AttributeError) as error:
        raise why_not_encoded(encoder, error) from error
    return pieces


def decode(message_class: type[AnyMessage], version: int, buffer: bytes, position: int = 0) -> AnyMessage:
    """Return the message at a position of a buffer; bytes after it are ignored.

    Args:
        message_class: its class.
        version: its version.
        buffer: has the message.
        position: of the message.

    Raises:
        DecodeError: the bytes are not such a message. Names version, field and position. No bytes make it raise another
            error.
        LocalProtocolError: the message does not have this version.
    """
    return decode_prefix(message_class, version, buffer, position)[0]


def decode_prefix(
    message_class: type[AnyMessage], version: int, buffer: bytes, position: int = 0
) -> tuple[AnyMessage, int]:
    """Return the message at a position of a buffer, and the position after it; see `decode`."""
    decoder = _decoder(message_class, version)
    try:
        decoded: tuple[AnyMessage, int] = decoder.function(buffer, position)
    except (struct.error, ValueError, IndexError) as error:
        raise why_not_decoded(decoder, error) from error
    return decoded


def _encoder(message_class: type[Message], version: int) -> Compiled:
    encoder = _encoders.get((message_class, version))
    if encoder is None:
        encoder = _encoders[message_class, version] = write_encoder(_schema(message_class, version), version)
    return encoder


def _decoder(message_class: type[Message], version: int) -> Compiled:
    decoder = _decoders.get((message_class, version))
    if decoder is None:
        decoder = _decoders[message_class, version] = write_decoder(_schema(message_class, version), version)
    return decoder


def _schema(message_class: type[Message], version: int) -> Schema:
    schema = message_class.__schema__
    if version not in schema.versions:
        raise LocalProtocolError(f"{schema.struct.name} has no version {version}, expected one of {schema.versions}")
    return schema
