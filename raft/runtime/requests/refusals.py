"""The responses that refuse a request, made of the messages themselves: what a request names, with an error code.

A response has the topics and partitions of its request, or the ids that the request names, in arrays of the same depth.
So a refusal is the response whose arrays have an entry for each of these, with the name, the index or the id, and with
the error code in the innermost entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from raft.codec import Message
from raft.codec.schema import Array, Field, Structure
from raft.codec.types import Blob, Text
from raft.codec.versions import NO_VERSIONS
from raft.errors import ErrorCode
from raft.wire.apis import api_of

AnyMessage = TypeVar("AnyMessage", bound=Message)

Refuse = Callable[[AnyMessage, int], Message | None]
"""Returns the response to a request of a version that is refused; None if its sender expects none."""

_ERROR = "error_code"
_NAMES = frozenset(("name", "topic", "topic_id", "index", "partition", "partition_index", "producer_id"))
"""The fields by which requests and responses name topics, partitions and producers."""

_OTHER_NAMES = {"partition_index": "partition"}
"""Fields of responses that have another name in the request."""


def at_top(code: ErrorCode) -> Refuse[Any]:
    """Refuse a request by the error code of its whole response."""

    def refuse(request: Message, _version: int) -> Message:
        response: type[Message] = api_of(request).response
        return _filled(response, None, {_ERROR: code})

    return refuse


def in_each(code: ErrorCode) -> Refuse[Any]:
    """Refuse a request by an error code for each partition, or each id, that it names."""
    return lambda request, _version: refused_in_each(request, code)


def refused_in_each(request: Message, code: ErrorCode) -> Message:
    """Return the response with an error code for each partition, or each id, that a request names."""
    return _refused(api_of(request).response, request, code)


def _refused(response: type[Message], named: object, code: int) -> Message:
    """Return a struct of a response for what a request names there: a struct of the request, or an id."""
    entries = _entries_of(named)
    values: dict[str, object] = {}
    for field in response.__struct__.fields:
        element = _element_of(field)
        if entries is not None and element is not None:
            values[field.name] = tuple(_refused(element, entry, code) for entry in entries)
            break
    else:
        values = {field.name: code for field in response.__struct__.fields if field.name.endswith(_ERROR)}
    return _filled(response, named, values)


def _entries_of(named: object) -> Iterable[object] | None:
    """Return the first array of a struct of a request; of an array of ids each once. None if it has no array."""
    if not isinstance(named, Message):
        return None
    for field in named.__struct__.fields:
        if isinstance(field.type, Array):
            entries = getattr(named, field.name)
            return entries if isinstance(field.type.element, Structure) else dict.fromkeys(entries)
    return None


def _element_of(field: Field) -> type[Message] | None:
    """Return the class of the elements of an array of structs; None for any other field."""
    if isinstance(field.type, Array) and isinstance(field.type.element, Structure):
        return field.type.element.struct.message_class
    return None


def _filled(response: type[AnyMessage], named: object, values: dict[str, Any]) -> AnyMessage:
    """Return a struct with these values, with what names the same thing in the request, and nothing else."""
    is_required = {each.name: each.default is MISSING for each in fields(response)}
    is_used = False
    for field in response.__struct__.fields:
        if field.name in values:
            continue
        if isinstance(named, Message):
            found = _named_in(named, field.name)
            if found is not None:
                values[field.name] = found
                continue
        elif named is not None and not is_used and isinstance(field.type, Text) == isinstance(named, str):
            values[field.name], is_used = named, True
            continue
        if is_required[field.name]:
            values[field.name] = _nothing(field)
    return response(**values)


def _named_in(request: Message, name: str) -> object:
    if name not in _NAMES:
        return None
    found = getattr(request, name, None)
    return getattr(request, _OTHER_NAMES.get(name, name), None) if found is None else found


def _nothing(field: Field) -> object:
    """Return the value of a field that a refusal has no value for."""
    match field.type:
        case Array():
            return ()
        case Blob():
            return b""
        case Text():
            return None if field.nullable != NO_VERSIONS else ""
        case _:
            return -1
