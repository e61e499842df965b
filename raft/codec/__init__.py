"""Kafka's message format: messages declared once as typed classes, codecs generated from the declarations.

declaration  classes and fields -> schema   the general description, which Kafka's JSON files would fit too
schema       -> layout of one version       which fields are there, which are tagged
encoder, decoder                            source text of one straight-line function a version, compiled
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
