"""Declares a message as a class whose fields have their wire types.

    @struct
    class Topic(Message):
        name: str = field(STRING)
        partitions: tuple[int, ...] = field(array(INT32))

    @message(api_key=99, versions="0-2", flexible="1+")
    class ExampleRequest(Message):
        cluster_id: str | None = field(STRING, nullable="0+", default=None)
        topics: tuple[Topic, ...] = field(array(Topic))
        is_dry_run: bool = field(BOOL, versions="2+", default=False)

The classes are frozen dataclasses with slots and keyword arguments, for mypy and at run time. The versions in a struct
are those of the message that it is part of.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar, dataclass_transform, overload

from raft.codec.schema import Array, Field, Schema, Struct, Structure
from raft.codec.types import Value, WireType
from raft.codec.versions import ALL_VERSIONS, NO_VERSIONS, Versions

UnknownTags: TypeAlias = tuple[tuple[int, bytes], ...]
"""Tagged fields that the reader does not know: their tags, and their values as bytes."""

_REQUIRED: Any = dataclasses.MISSING
_FORM = "form on the wire"


class Declared:
    """What a declaration adds to its class."""

    # These are not in Message, because a dataclass would take them for fields.
    __slots__ = ()

    __struct__: ClassVar[Struct]
    __schema__: ClassVar[Schema]
    """A struct has none."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Message(Declared):
    """Base of all messages and of the structs inside them.

    Fields:
        unknown_tags: tagged fields that a newer peer sent; they are encoded with the message again.
    """

    unknown_tags: UnknownTags = dataclasses.field(default=(), compare=False, repr=False)


AnyMessage = TypeVar("AnyMessage", bound=Message)


@overload
def field(
    type: WireType[Value] | type[Value],
    *,
    versions: str = ...,
    default: Value = ...,
    tag: int | None = ...,
    tagged: str | None = ...,
    ignorable: bool = ...,
    flexible: str | None = ...,
) -> Value: ...


@overload
def field(
    type: WireType[Value] | type[Value],
    *,
    versions: str = ...,
    nullable: str,
    default: Value | None = ...,
    tag: int | None = ...,
    tagged: str | None = ...,
    ignorable: bool = ...,
    flexible: str | None = ...,
) -> Value | None: ...


def field(
    type: Any,
    *,
    versions: str = "0+",
    nullable: str = "none",
    default: Any = _REQUIRED,
    tag: int | None = None,
    tagged: str | None = None,
    ignorable: bool = False,
    flexible: str | None = None,
) -> Any:
    """Declare one field, with the words of Kafka's message files.

    Args:
        type: its type on the wire; for a struct, the class of the struct.
        versions: the versions that have it.
        nullable: the versions in which it may be None.
        default: its value in a message without it; a field needs one if it is tagged or some versions lack it.
        tag: its number, if it is a tagged field.
        tagged: the versions in which it is tagged; by default all versions that have it.
        ignorable: whether versions that lack it drop any value silently; otherwise they refuse all but the default.
        flexible: the versions that encode its length as a varint; by default those of the message.

    Raises:
        TypeError: the default is missing.
    """
    present = Versions.parse(versions)
    if default is _REQUIRED and (present != ALL_VERSIONS or tag is not None):
        raise TypeError("a field that a message can lack needs a default")
    form = partial(
        Field,
        type=_wire_type(type),
        versions=present,
        nullable=Versions.parse(nullable),
        tag=tag,
        tagged=NO_VERSIONS if tag is None else Versions.parse(tagged or versions),
        default=None if default is _REQUIRED else default,
        ignorable=ignorable,
        flexible=None if flexible is None else Versions.parse(flexible),
    )
    return dataclasses.field(default=default, metadata={_FORM: form})


def array(element: WireType[Value] | type[Value]) -> WireType[tuple[Value, ...]]:
    """Return the type of an array of this type, or of the struct of this class."""
    return Array(_wire_type(element))


def _wire_type(declared: WireType[Any] | type[Any]) -> Any:
    """Return the type itself, or the type of a struct for its class."""
    return Structure(declared.__struct__) if isinstance(declared, type) else declared


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def struct(cls: type[AnyMessage]) -> type[AnyMessage]:
    """Make a struct of a class of declared fields."""
    message_class = dataclasses.dataclass(frozen=True, slots=True, kw_only=True)(cls)
    declared = [each for each in dataclasses.fields(message_class) if _FORM in each.metadata]
    message_class.__struct__ = Struct(
        name=cls.__name__,
        fields=tuple(each.metadata[_FORM](name=each.name) for each in declared),
        message_class=message_class,
        draft_class=_draft_class(message_class),
    )
    return message_class


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def message(
    *, versions: str, flexible: str, api_key: int | None = None
) -> Callable[[type[AnyMessage]], type[AnyMessage]]:
    """Make a message of a class of declared fields.

    Args:
        versions: all versions of the message.
        flexible: the versions with compact lengths and tagged fields (KIP-482).
        api_key: of a request or response; of a metadata record, its type.
    """

    def declare(cls: type[AnyMessage]) -> type[AnyMessage]:
        message_class = struct(cls)
        message_class.__schema__ = Schema(
            struct=message_class.__struct__,
            versions=Versions.parse(versions),
            flexible=Versions.parse(flexible),
            api_key=api_key,
        )
        return message_class

    return declare


def _draft_class(message_class: type[Message]) -> type[Any]:
    """Return a class with the slots of `message_class` whose attributes can be assigned."""
    # CPython has one slot for both methods: assignment is only fast if both are the ones of object.
    open_to_assignment = {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    slots = message_class.__dict__["__slots__"]
    return type(f"{message_class.__name__}Draft", (Message,), {"__slots__": slots, **open_to_assignment})
