"""Variants to msgpack and back, without Spark: PySpark's own reader of variants reads what is made here."""

from __future__ import annotations

import datetime
import decimal
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import VariantVal

from kraft_spark.msgpack.bounded import unpack_bounded
from kraft_spark.msgpack.errors import UnpackableValueError
from kraft_spark.msgpack.variant_bytes import variant_of
from kraft_spark.msgpack.variants import variant_packer

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=100)
    | st.binary(max_size=10)
    | st.datetimes(timezones=st.just(datetime.UTC)),
    lambda values: st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=3), values, max_size=4),
    max_leaves=10,
)


def made_of(value: object) -> VariantVal:
    parts = variant_of(unpack_bounded(msgpack.packb(value, datetime=True)))
    return VariantVal(parts["value"], parts["metadata"])


@given(VALUES)
def test_value_is_the_same_as_a_variant(value: object) -> None:
    assert made_of(value).toPython() == value


@given(VALUES)
def test_variant_is_packed_as_its_value(value: object) -> None:
    variant = made_of(value)

    packed = variant_packer()(variant.value, variant.metadata)

    # The entries of a variant are in the order of their keys.
    assert msgpack.unpackb(packed, timestamp=3) == value


@pytest.mark.parametrize("number", [0, 255, 256, 70_000], ids=str)
def test_containers_of_any_length_are_read(number: int) -> None:
    elements = list(range(number))
    entries = {f"key-{at}": at for at in elements}

    assert made_of(elements).toPython() == elements
    assert made_of(entries).toPython() == entries


@pytest.mark.parametrize(
    ("json", "expected"),
    [
        pytest.param("1.5", 1.5, id="a float of the same text"),
        pytest.param("0.1", 0.1, id="a float with the same shortest text"),
        pytest.param("1.0", 1.0, id="a decimal with a scale"),
        pytest.param("12345678901234567890", 12345678901234567890, id="an integer of 64 bits"),
        pytest.param("123456789012345678901234567890", "123456789012345678901234567890", id="a long integer"),
        pytest.param("0.1234567890123456789012", "0.1234567890123456789012", id="more digits than a float has"),
    ],
)
def test_decimal_of_a_variant_is_a_number_if_one_of_msgpack_is_the_same(json: str, expected: Any) -> None:
    variant = VariantVal.parseJson(json)

    found = msgpack.unpackb(variant_packer()(variant.value, variant.metadata))

    assert (type(found), found) == (type(expected), expected)
    assert decimal.Decimal(str(found)) == decimal.Decimal(json)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(b"\x2c\x00\x00\x00\x00", "1970-01-01", id="date"),
        pytest.param(b"\x34" + bytes(8), "1970-01-01T00:00:00", id="timestamp without a zone"),
        pytest.param(b"\x34" + (1_500_000).to_bytes(8, "little"), "1970-01-01T00:00:01.5", id="fraction"),
        pytest.param(b"\x38\x00\x00\xc0\x3f", 1.5, id="float"),
    ],
)
def test_type_that_msgpack_has_not_is_packed_in_its_documented_form(value: bytes, expected: object) -> None:
    assert msgpack.unpackb(variant_packer()(value, b"\x01\x00\x00")) == expected


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(b"\x30" + b"\xff" * 7 + b"\x7f", id="year after 9999"),
        pytest.param(b"\x2c\xff\xff\xff\x7f", id="date after 9999"),
        pytest.param(b"\xfc", id="unknown type"),
        pytest.param(b"\x0c", id="cut short"),
    ],
)
def test_variant_that_cannot_be_read_is_refused(value: bytes) -> None:
    with pytest.raises(UnpackableValueError, match=r"^a variant has no form in msgpack: "):
        variant_packer()(value, b"\x01\x00\x00")


def test_variant_of_too_many_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^16777222 bytes do not fit into a variant, expected at most 16777216"):
        variant_of(bytes((16 << 20) + 1))


@pytest.mark.parametrize("length", [0, 63, 64, 70_000])
def test_text_of_any_length_is_the_same_as_a_variant(length: int) -> None:
    assert made_of("x" * length).toPython() == "x" * length


@pytest.mark.parametrize("seconds", [2**44, -(2**44), 2**63 - 1], ids=str)
def test_timestamp_out_of_range_is_no_variant(seconds: int) -> None:
    with pytest.raises(ValueError, match="does not fit into 64 bits"):
        variant_of(msgpack.Timestamp(seconds))
