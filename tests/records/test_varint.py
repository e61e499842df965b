import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.records.varint import read_varint, read_varlong, write_varint


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(0, "00", id="zero"),
        pytest.param(-1, "01", id="minus one"),
        pytest.param(63, "7e", id="largest of one byte"),
        pytest.param(-64, "7f", id="smallest of one byte"),
        pytest.param(64, "8001", id="two bytes"),
        pytest.param(2**31 - 1, "feffffff0f", id="largest int32"),
        pytest.param(-(2**31), "ffffffff0f", id="smallest int32"),
        pytest.param(2**63 - 1, "feffffffffffffffff01", id="largest int64"),
        pytest.param(-(2**63), "ffffffffffffffffff01", id="smallest int64"),
    ],
)
@pytest.mark.rule("LOG-3")
def test_varint_has_kafka_bytes_when_written(value: int, expected: str) -> None:
    assert write_varint(value).hex() == expected
    assert read_varlong(bytes.fromhex(expected), 0) == (value, len(expected) // 2)


@given(st.integers(-(2**63), 2**63 - 1))
def test_varlong_is_unchanged_when_read(value: int) -> None:
    written = write_varint(value)

    assert read_varlong(b"\xff" + written + b"\xff", 1) == (value, 1 + len(written))


@given(st.integers(-(2**31), 2**31 - 1))
def test_varint_is_unchanged_when_read(value: int) -> None:
    written = write_varint(value)

    assert read_varint(written, 0) == (value, len(written))


@pytest.mark.parametrize(
    ("reader", "data"),
    [
        pytest.param(read_varint, "ffffffff1f", id="33 bits"),
        pytest.param(read_varint, "808080808000", id="six bytes"),
        pytest.param(read_varlong, "ffffffffffffffffff03", id="65 bits"),
        pytest.param(read_varlong, "8080808080808080808000", id="eleven bytes"),
    ],
)
def test_reader_refuses_integer_when_too_wide(reader, data: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DecodeError, match="more than"):
        reader(bytes.fromhex(data), 0)


def test_reader_reports_end_when_bytes_run_out() -> None:
    with pytest.raises(IndexError):
        read_varint(b"\x80\x80", 0)
