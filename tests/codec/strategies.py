"""Hypothesis strategies for messages, made from their declarations."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from raft.codec import BOOL, FLOAT64, INT8, INT16, INT32, INT64, UINT16, UINT32, UUID, Message
from raft.codec.schema import AnyType, Array, Field, Struct, Structure
from raft.codec.types import Blob, Fixed, Text
from raft.uuids import format_uuid

AnyMessage = TypeVar("AnyMessage", bound=Message)

MANY = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
"""Without time limits, which a busy machine would exceed."""

FEW = settings(MANY, max_examples=8)
"""For tests that run once for every version of every message."""

_FIXED: Mapping[str, SearchStrategy[object]] = MappingProxyType(
    {
        BOOL.code: st.booleans(),
        INT8.code: st.integers(-(1 << 7), (1 << 7) - 1),
        INT16.code: st.integers(-(1 << 15), (1 << 15) - 1),
        INT32.code: st.integers(-(1 << 31), (1 << 31) - 1),
        INT64.code: st.integers(-(1 << 63), (1 << 63) - 1),
        UINT16.code: st.integers(0, (1 << 16) - 1),
        UINT32.code: st.integers(0, (1 << 32) - 1),
        FLOAT64.code: st.floats(allow_nan=False),
        UUID.code: st.binary(min_size=16, max_size=16).map(format_uuid),
    }
)

Limits = Mapping[str, SearchStrategy[object]]
"""Strategies that replace the usual one of all fields with these names."""


def messages(message_class: type[AnyMessage], version: int, limits: Limits | None = None) -> SearchStrategy[AnyMessage]:
    """Messages that this version can hold: fields it lacks have their defaults."""
    return _structs(message_class.__struct__, version, limits or {})


def _structs(description: Struct, version: int, limits: Limits) -> SearchStrategy[AnyMessage]:
    present = [field for field in description.fields if version in field.versions]
    return st.builds(description.message_class, **{field.name: _values(field, version, limits) for field in present})


def _values(field: Field, version: int, limits: Limits) -> SearchStrategy[object]:
    values = limits[field.name] if field.name in limits else _of_type(field.type, version, limits)
    return st.none() | values if version in field.nullable else values


def _of_type(type: AnyType, version: int, limits: Limits) -> SearchStrategy[object]:
    match type:
        case Fixed():
            return _FIXED[type.code]
        case Text():
            return st.text(max_size=20)
        case Blob():
            return st.binary(max_size=200)
        case Array():
            return st.lists(_of_type(type.element, version, limits), max_size=3).map(tuple)
        case Structure():
            return _structs(type.struct, version, limits)
