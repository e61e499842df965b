"""The options of `from_msgpack`, with the names that they have in Spark's `from_json`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyspark.sql import SparkSession
from pyspark.sql.types import BinaryType, DataType, StructType

from kraft_spark.msgpack.errors import SchemaError

_MODE = "mode"
_CORRUPT_RECORD = "columnNameOfCorruptRecord"
_DEFAULT_CORRUPT_RECORD = "spark.sql.columnNameOfCorruptRecord"


class ParseMode(Enum):
    """What happens to a row whose bytes are malformed."""

    FAILFAST = "FAILFAST"
    PERMISSIVE = "PERMISSIVE"
    DROPMALFORMED = "DROPMALFORMED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of a column.

    Fields:
        mode: what happens to malformed rows.
        corrupt_record: the name of the field that gets the bytes of a malformed row, if the schema has it.
    """

    mode: ParseMode
    corrupt_record: str

    def corrupt_field(self, data_type: DataType) -> str | None:
        """Return the name of the field for the bytes of malformed rows; None if the schema has none.

        Raises:
            SchemaError: it has another type than binary, or is `not null`.
        """
        if not isinstance(data_type, StructType) or self.corrupt_record not in data_type.names:
            return None
        field = data_type[self.corrupt_record]
        if type(field.dataType) is not BinaryType or not field.nullable:
            found = field.dataType.simpleString() + ("" if field.nullable else " not null")
            raise SchemaError(
                f"{field.name}: found {found}, expected binary: the field gets the bytes of malformed rows; "
                f"the option {_CORRUPT_RECORD} gives it another name"
            )
        return self.corrupt_record


def read_options(mode: str | None, options: Mapping[str, str] | None, *, default: ParseMode) -> Options:
    """Return the options of a column.

    Args:
        mode: the mode, in letters of either case; None if the options name it.
        options: by name, in letters of either case.
        default: the mode if none is given.

    Raises:
        SchemaError: an option or the mode is unknown, or the mode is given twice.
    """
    known = {name.lower(): name for name in (_MODE, _CORRUPT_RECORD)}
    given: dict[str, str] = {}
    for name, value in (options or {}).items():
        if name.lower() not in known:
            raise SchemaError(f"{name} is not an option of from_msgpack, expected one of {', '.join(known.values())}")
        given[known[name.lower()]] = value
    if mode is not None and given.setdefault(_MODE, mode) != mode:
        raise SchemaError(f"mode {mode}: the options have the mode {given[_MODE]}, expected one mode")
    return Options(
        mode=_mode(given[_MODE]) if _MODE in given else default,
        corrupt_record=given.get(_CORRUPT_RECORD) or _default_corrupt_record(),
    )


def _mode(text: str) -> ParseMode:
    try:
        return ParseMode(text.upper())
    except (AttributeError, ValueError) as error:
        raise SchemaError(f"mode {text}: expected {', '.join(mode.value for mode in ParseMode)}") from error


def _default_corrupt_record() -> str:
    session = SparkSession.getActiveSession()
    name = None if session is None else session.conf.get(_DEFAULT_CORRUPT_RECORD)
    return name or "_corrupt_record"
