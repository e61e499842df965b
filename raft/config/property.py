"""One property of a node or a client: a row of the table of its names, values, defaults and meanings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, TypeVar

Value = TypeVar("Value")
Parse = Callable[[str, str], Value]

ROW = "row"
"""Key of the row in the metadata of the field that has the value of the property."""


@dataclass(frozen=True, slots=True)
class Property:
    """A row of a table.

    Fields:
        name: its key in a file.
        parse: returns the value, of the name and the text.
        default: the value if the property is not given.
        meaning: for documents, and for `help`.
        default_text: what documents say about the default; None to show the value.
    """

    name: str
    parse: Parse[Any]
    default: Any
    meaning: str
    default_text: str | None = None

    @property
    def shown_default(self) -> str:
        """The default in words; empty if there is none."""
        if self.default_text is not None:
            return self.default_text
        if self.default is None:
            return ""
        value = self.default.value if isinstance(self.default, Enum) else self.default
        return str(value).lower() if isinstance(value, bool) else str(value)


def as_text(_name: str, value: str) -> str:
    """Return the value. Properties that are parsed together with others have this parser."""
    return value


def rows(of: type) -> Mapping[str, Any]:
    """Return the rows of a dataclass, by the fields that have the values of the properties."""
    return {each.name: each.metadata[ROW] for each in fields(of) if ROW in each.metadata}
