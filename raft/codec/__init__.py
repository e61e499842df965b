"""Kafka's message format: messages declared once as typed classes, codecs generated from the declarations.

declaration  classes and fields -> schema   the message as data; Kafka's JSON files could be expressed in it too
schema       -> layout of one version       the fields that it has, and which of them are tagged
encoder, decoder                            the source of one function for each version, compiled
codec        encode, decode                 with errors that name the field
"""

from raft.codec.codec import decode, decode_prefix, encode, encode_pieces
from raft.codec.declaration import Message, UnknownTags, array, field, message, struct
from raft.codec.types import (
    BOOL,
    BYTES,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    RECORDS,
    STRING,
    UINT16,
    UINT32,
    UUID,
)
from raft.codec.versions import Versions

__all__ = [
    "BOOL",
    "BYTES",
    "FLOAT64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "RECORDS",
    "STRING",
    "UINT16",
    "UINT32",
    "UUID",
    "Message",
    "UnknownTags",
    "Versions",
    "array",
    "decode",
    "decode_prefix",
    "encode",
    "encode_pieces",
    "field",
    "message",
    "struct",
]
