"""What is refused, and how the error names the field."""

import traceback

import pytest

from raft.codec import INT32, Message, decode, encode, field, message
from raft.codec.types import MAX_STRING_BYTES
from raft.codec.varint import encode_uvarint
from raft.errors import DecodeError, LocalProtocolError
from raft.types import Uuid
from tests.codec.everything import Everything, Part
from tests.codec.samples import sample


def changed(version: int, **values: object) -> Everything:
    """The sample of a version with some fields set to values that it cannot hold."""
    return Everything(**{**{name: getattr(sample(Everything, version), name) for name in FIELDS}, **values})


FIELDS = [field.name for field in Everything.__struct__.fields]


@pytest.mark.parametrize(
    ("version", "values", "expected"),
    [
        pytest.param(0, {"late": 5}, "Everything v0: late: this version has no such field", id="scalar"),
        pytest.param(0, {"late_part": Part(number=5)}, "v0: late_part: this version has no such", id="struct"),
        pytest.param(1, {"tagged_text": ""}, "v1: tagged_text: this version has no such field", id="nullable"),
        pytest.param(2, {"tagged_blob": None}, "v2: tagged_blob: this version has no such field", id="null"),
        pytest.param(1, {"part": Part(weight=0.25)}, "v1: part.weight: this version has no such", id="in a struct"),
    ],
)
@pytest.mark.rule("COMPAT-2")
def test_encoder_refuses_values_of_fields_that_the_version_lacks(
    version: int, values: dict[str, object], expected: str
) -> None:
    with pytest.raises(LocalProtocolError, match=expected):
        encode(changed(version, **values), version)


def test_encoder_drops_values_of_ignorable_fields_that_the_version_lacks() -> None:
    plain = sample(Everything, 0)

    assert encode(changed(0, late_id=Uuid("AAAAAAAAAAAAAAAAAAAAAQ")), 0) == encode(plain, 0)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({"small": 1 << 15}, "encode Everything v3: small: ", id="number too large"),
        pytest.param({"port": -1}, "Everything v3: port: ", id="negative unsigned number"),
        pytest.param({"medium": None}, "Everything v3: medium: ", id="null number"),
        pytest.param({"id": Uuid("short")}, "Everything v3: id: .*not a uuid", id="uuid"),
        pytest.param({"ids": (Uuid("+" * 22),)}, "Everything v3: ids: .*not a uuid", id="uuid in an array"),
        pytest.param({"name": None}, "Everything v3: name: ", id="null string"),
        pytest.param({"name": "x" * 32768}, "Everything v3: name: .*more than 32767 bytes", id="long string"),
        pytest.param({"name": "\ud800"}, "Everything v3: name: .*surrogates", id="string that is no text"),
        pytest.param({"numbers": (1, 1 << 31)}, "Everything v3: numbers: ", id="number in an array"),
        pytest.param({"parts": (Part(), Part(number=1 << 31))}, "Everything v3: parts.number: ", id="in a struct"),
        pytest.param({"tagged_number": 1 << 63}, "Everything v3: tagged_number: ", id="in a tagged field"),
    ],
)
def test_encoder_refuses_values_that_do_not_fit_their_fields(values: dict[str, object], expected: str) -> None:
    with pytest.raises(LocalProtocolError, match=expected):
        encode(changed(3, **values), 3)


def test_encoder_refuses_null_in_versions_without_it() -> None:
    with pytest.raises(LocalProtocolError, match="Everything v0: maybe_part"):
        encode(changed(0, maybe_part=None), 0)


@pytest.mark.parametrize("version", [-1, 4])
def test_codec_refuses_versions_that_do_not_exist(version: int) -> None:
    with pytest.raises(LocalProtocolError, match=f"Everything has no version {version}, expected one of 0-3"):
        encode(sample(Everything, 3), version)
    with pytest.raises(LocalProtocolError, match=f"Everything has no version {version}, expected one of 0-3"):
        decode(Everything, version, b"")


@message(versions="0-1", flexible="1+")
class Short(Message):
    first: int = field(INT32)
    second: int = field(INT32)
    part: Part = field(Part)


@pytest.mark.parametrize(
    ("version", "encoded", "expected"),
    [
        pytest.param(0, "", "cannot decode Short v0: first at byte 0: the bytes end too early", id="first field"),
        pytest.param(0, "00000001 0000", "Short v0: second at byte 4: the bytes end too", id="second of a run"),
        pytest.param(0, "00000001 00000002 0000", "Short v0: part.number at byte 8: the bytes", id="in a struct"),
        pytest.param(0, "00000001 00000002 00000003 0005 61", "part.label at byte 14: a length of 5 with 1", id="text"),
        pytest.param(0, "00000001 00000002 00000003 fffe", "part.label at byte 14: a length of -2", id="negative"),
        pytest.param(0, "00000001 00000002 00000003 0001 ff", "part.label at byte 14: 'utf-8' codec", id="not UTF-8"),
        pytest.param(1, "00000001 00000002 00000003 ffffffffff01", "label at byte .*: a varint of more", id="varint"),
        pytest.param(1, "00000001 00000002 00000003 00 00", "v1: the message at byte 14: the bytes end", id="tags"),
    ],
)
def test_decoder_names_message_version_field_and_position(version: int, encoded: str, expected: str) -> None:
    with pytest.raises(DecodeError, match=expected):
        decode(Short, version, bytes.fromhex(encoded))


@pytest.mark.parametrize(("length", "is_read"), [(MAX_STRING_BYTES, True), (MAX_STRING_BYTES + 1, False)])
def test_decoder_reads_no_string_that_could_not_be_sent_on(length: int, is_read: bool) -> None:
    encoded = bytes(12) + encode_uvarint(length + 1) + b"x" * length + b"\x00\x00"

    if is_read:
        assert decode(Short, 1, encoded).part.label == "x" * length
    else:
        with pytest.raises(DecodeError, match=r"part\.label at byte 15: a string of more than 32767 bytes"):
            decode(Short, 1, encoded)


def test_decoder_refuses_null_where_it_may_not_be() -> None:
    encoded = bytearray(encode(sample(Everything, 3), 3))
    position = encoded.index(b"name") - 1

    with pytest.raises(
        DecodeError, match=f"Everything v3: name at byte {position + 1}: null in a field that is not nullable"
    ):
        decode(Everything, 3, bytes(encoded[:position]) + bytes(len(encoded)))


def test_traceback_shows_the_generated_line_that_failed() -> None:
    with pytest.raises(DecodeError) as refusal:
        decode(Short, 0, b"")

    assert "message.first, message.second" in "".join(traceback.format_exception(refusal.value))
