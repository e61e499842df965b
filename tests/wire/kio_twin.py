"""The same message in kio, an independent implementation that is generated from Kafka's message files."""

from __future__ import annotations

import importlib
import io
import re
import typing
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from raft.codec import Message
from raft.types import ZERO_UUID, Uuid
from raft.uuids import uuid_bytes

_OLD_VERSIONS = "v3andbelow"
"""Kafka names fields by the versions that have them where later versions have others."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def kio_class(message_class: type[Message], version: int) -> Any:
    """kio's class for one version of a message."""
    name = message_class.__name__
    key = message_class.__schema__.api_key
    if key is not None:
        load = load_request_schema if name.endswith("Request") else load_response_schema
        return load(key, version)
    module = re.sub("(?<!^)(?=[A-Z])", "_", name).lower()
    kind = "header" if name.endswith("Header") else "data"
    return getattr(importlib.import_module(f"kio.schema.{module}.v{version}.{kind}"), name)


def kio_value(message: Message, twin_class: Any) -> Any:
    """The kio object that equals `message`."""
    attributes = {_plain(field.name): field.name for field in fields(message)}
    hints = typing.get_type_hints(twin_class)
    return twin_class(
        **{
            field.name: _convert(getattr(message, attributes[_plain(field.name)]), field.metadata, hints[field.name])
            for field in fields(twin_class)
        }
    )


def kio_encode(value: Any) -> bytes:
    """The bytes that kio makes of its object."""
    buffer = io.BytesIO()
    entity_writer(type(value))(buffer, value)
    return buffer.getvalue()


def kio_decode(twin_class: Any, encoded: bytes) -> Any:
    """The object that kio reads; it must use all of the bytes."""
    value, size = entity_reader(twin_class)(encoded, 0)
    assert size == len(encoded)
    return value


def _plain(name: str) -> str:
    """A field's name without the underscores, versions and units in which the two differ."""
    plain = name.replace("_", "").removesuffix("ms")
    return plain.removeprefix(_OLD_VERSIONS).removesuffix(_OLD_VERSIONS)


def _convert(value: Any, metadata: Any, hint: Any) -> Any:
    if value is None:
        return None
    entity = _entity_class(hint)
    if entity is not None:
        return (
            tuple(kio_value(each, entity) for each in value) if isinstance(value, tuple) else kio_value(value, entity)
        )
    match metadata["kafka_type"]:
        case "uuid":
            return _uuid(value)
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return None if value == -1 else _EPOCH + timedelta(milliseconds=value)
        case _:
            return value


def _uuid(text: Uuid) -> UUID | None:
    return None if text == ZERO_UUID else UUID(bytes=uuid_bytes(text))


def _entity_class(hint: Any) -> Any:
    """The class of the struct or structs that a field holds, if it holds any."""
    if is_dataclass(hint):
        return hint
    return next((found for found in map(_entity_class, typing.get_args(hint)) if found is not None), None)
