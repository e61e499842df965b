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

    def value_in(self, given: Mapping[str, str], *, named: Callable[[str], str] = str) -> Any:
        """Return the value among properties; the default without one, or with an empty one.

        Args:
            given: texts by names.
            named: returns the name that the user has for the property, for messages.

        Raises:
            ConfigError: the text is not a value; says what is expected.
        """
        text = given.get(self.name, "").strip()
        return self.parse(named(self.name), text) if text else self.default

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
