"""Encoding and decoding messages: the generated functions, made when first used, and the errors that leave them."""

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
    """Encode a message in one of its versions.

    Raises:
        LocalProtocolError: there is no such version; it lacks a field whose value is not the default and which is not
            ignorable (COMPAT-2); or a value does not fit its field. Names the field.
    """
    return b"".join(encode_pieces(message, version))


def encode_pieces(message: Message, version: int) -> list[bytes]:
    """Encode as `encode` does, into pieces whose concatenation is the message; large fields are not copied."""
    encoder = _encoder(type(message), version)
    pieces: list[bytes] = []
    try:
        encoder.function(message, pieces.append)
    except (struct.error, ValueError, TypeError, AttributeError) as error:
        raise why_not_encoded(encoder, error) from error
    return pieces


def decode(message_class: type[AnyMessage], version: int, buffer: bytes, position: int = 0) -> AnyMessage:
    """Decode the message that starts at `position` of `buffer`; bytes behind it are ignored.

    Raises:
        DecodeError: the bytes are no such message. Names version, field and position. Nothing else is raised,
            whatever the bytes are.
        LocalProtocolError: there is no such version.
    """
    return decode_prefix(message_class, version, buffer, position)[0]


def decode_prefix(
    message_class: type[AnyMessage], version: int, buffer: bytes, position: int = 0
) -> tuple[AnyMessage, int]:
    """Decode as `decode` does, and say where the message ends.

    Returns:
        The message, and the position after it.
    """
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
        raise LocalProtocolError(f"{schema.struct.name} has versions {schema.versions}, not {version}")
    return schema
