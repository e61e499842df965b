"""The words for what was found in msgpack, for messages."""

from __future__ import annotations

import msgpack

_WORDS: dict[type, str] = {
    type(None): "nil",
    dict: "a map",
    tuple: "an array",
    str: "a str",
    bytes: "a bin",
    int: "an integer",
    float: "a float",
    bool: "a boolean",
    msgpack.Timestamp: "a timestamp",
    msgpack.ExtType: "another extension than a timestamp",
}


def found(value: object) -> str:
    """Return the words for the type of a value that msgpack unpacked."""
    return _WORDS[type(value)]
