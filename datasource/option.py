"""One option of `format("kraft")`: a row of the table in `datasource.options`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Flag, auto
from typing import Any

from raft.config.property import ROW, Parse, Property, Value

Options = Mapping[str, str]


class Use(Flag):
    """What an option is for."""

    STREAM = auto()
    BATCH = auto()
    WRITE = auto()
    READ = STREAM | BATCH
    ALL = READ | WRITE


@dataclass(frozen=True, slots=True)
class Option(Property):
    """A row of the table; users may write its name in any case of letters.

    Fields:
        uses: what it is for.
        is_kafkas: whether Kafka's clients have it, without the prefix `kraft.`. The file of defaults may name it so.
        is_for_one_use: whether it belongs to one read or write, so that the file of defaults cannot have it.
    """

    uses: Use = Use.ALL
    is_kafkas: bool = False
    is_for_one_use: bool = False


def option(
    name: str,
    parse: Parse[Value],
    default: Value,
    uses: Use,
    meaning: str,
    default_text: str | None = None,
    *,
    is_for_one_use: bool = False,
) -> Value:
    """Return a field of a dataclass that has the value of an option; see `Option`."""
    row = Option(name, parse, default, meaning, default_text, uses=uses, is_for_one_use=is_for_one_use)
    return field(default=default, metadata={ROW: row})


def parse_given(options: Options, table: Mapping[str, Option]) -> dict[str, Any]:
    """Return the values of the options that are given, by the keys of a table.

    Raises:
        ConfigError: a value is wrong; says which, and what is expected.
    """
    given = {name: value_of(options, row.name) for name, row in table.items()}
    return {name: table[name].parse(table[name].name, text) for name, text in given.items() if text is not None}


def value_of(options: Options, name: str) -> str | None:
    """Return the text of an option, whose name may be in any case of letters; None without one."""
    return next((value.strip() for given, value in options.items() if given.lower() == name.lower()), None)
