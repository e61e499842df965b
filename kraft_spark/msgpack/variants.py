"""Variants as values of msgpack: objects as maps, arrays as arrays, and simple values by their types."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from typing import Any

import msgpack
from pyspark.errors import PySparkException
from pyspark.sql.types import VariantVal

from kraft_spark.msgpack.errors import UnpackableValueError

_1970 = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_EXACT = decimal.Context(prec=100)
_MICROSECOND = datetime.timedelta(microseconds=1)


def variant_packer() -> Callable[[bytes, bytes], bytes]:
    """Return a function that packs a variant, which is given as its value and its metadata.

    It raises UnpackableValueError if the variant has a year after 9999, is nested deeper than 500 levels, or has a type
    that PySpark cannot read.
    """
    pack = msgpack.Packer(default=_plain).pack

    def pack_variant(value: bytes, metadata: bytes) -> bytes:
        try:
            # PySpark computes decimals, which with Python's precision of 28 digits would round them.
            with decimal.localcontext(_EXACT):
                packed: bytes = pack(VariantVal(value, metadata).toPython())
        except (ValueError, OverflowError, RecursionError, PySparkException) as error:
            raise UnpackableValueError(f"a variant has no form in msgpack: {error}") from error
        return packed

    return pack_variant


def _plain(value: object) -> object:
    match value:
        case decimal.Decimal():
            return _number(value)
        case datetime.datetime(tzinfo=None):
            # As in a column of such timestamps.
            return value.isoformat().rstrip("0").rstrip(".") if value.microsecond else value.isoformat()
        case datetime.datetime():
            seconds, micros = divmod((value - _1970) // _MICROSECOND, 1_000_000)
            return msgpack.Timestamp(seconds, micros * 1_000)
        case datetime.date():
            return value.isoformat()
        case _:
            raise ValueError(f"{type(value).__name__} is not supported")


def _number(number: decimal.Decimal) -> Any:
    """Return an integer, a float if its shortest text is the same number, or text."""
    if number.as_tuple().exponent == 0 and -(2**63) <= number < 2**64:
        return int(number)
    approximation = float(number)
    return approximation if decimal.Decimal(repr(approximation)) == number else str(number)
