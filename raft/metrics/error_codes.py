"""The error codes in a response, wherever its message has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from raft.codec import Message
from raft.codec.schema import Array, Struct, Structure


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the error codes of a struct are.

    Fields:
        has_code: whether the struct has one itself.
        inner: the structs inside it that have some: the attribute, whether it is an array, and their own places.
    """

    has_code: bool
    inner: tuple[tuple[str, bool, _Place], ...]


_PLACES: dict[type[Message], _Place] = {}
"""The places of the messages that were seen."""


def error_codes(response: Message) -> list[int]:
    """Return the error codes of a response, without those that stand for success."""
    kind = type(response)
    place = _PLACES.get(kind)
    if place is None:
        place = _PLACES[kind] = _place_of(kind.__schema__.struct)
    found: list[int] = []
    _add_codes(response, place, found)
    return found


def _add_codes(value: Any, place: _Place, codes: list[int]) -> None:
    if place.has_code and value.error_code:
        codes.append(value.error_code)
    for attribute, is_array, inner in place.inner:
        found = getattr(value, attribute)
        if is_array:
            for each in found or ():
                _add_codes(each, inner, codes)
        elif found is not None:
            _add_codes(found, inner, codes)


def _place_of(struct: Struct) -> _Place:
    inner = []
    for field in struct.fields:
        is_array = isinstance(field.type, Array)
        element = field.type.element if isinstance(field.type, Array) else field.type
        if isinstance(element, Structure):
            place = _place_of(element.struct)
            if place.has_code or place.inner:
                inner.append((field.name, is_array, place))
    return _Place(any(field.name == "error_code" for field in struct.fields), tuple(inner))
