"""Tagged fields: left out when default, kept when unknown."""

from dataclasses import replace

import pytest

from raft.codec import INT32, INT64, STRING, Message, array, decode, encode, field, message, struct
from raft.errors import DecodeError, LocalProtocolError


@struct
class Leader(Message):
    id: int = field(INT32, default=-1)
    epoch: int = field(INT32, default=-1)


@message(versions="0-2", flexible="1+")
class Answer(Message):
    """Version 2 has two tags more than version 1."""

    number: int = field(INT32)
    cluster: str | None = field(STRING, versions="1+", nullable="1+", tag=0, default=None)
    leader: Leader = field(Leader, versions="1+", tag=2, default=Leader())
    mark: int = field(INT64, versions="2+", tag=3, default=-1)
    epochs: tuple[int, ...] | None = field(array(INT32), versions="2+", nullable="2+", tag=130, default=())
    maybe: Leader | None = field(Leader, versions="2+", nullable="2+", tag=131, default=Leader())


def test_encoder_leaves_out_tagged_fields_that_equal_their_defaults() -> None:
    assert encode(Answer(number=1), 2) == bytes.fromhex("00000001 00")


def test_encoder_writes_tagged_fields_with_their_sizes_lowest_tag_first() -> None:
    answer = Answer(number=1, cluster="c", leader=Leader(id=3, epoch=5), mark=7, epochs=None, maybe=None)

    encoded = encode(answer, 2)

    assert encoded == bytes.fromhex(
        "00000001 05  00 02 0263  02 09 00000003 00000005 00  03 08 0000000000000007  8201 01 00  8301 01 00"
    )
    assert decode(Answer, 2, encoded) == answer


def test_tagged_struct_that_may_be_null_has_a_marker_when_it_is_not() -> None:
    answer = Answer(number=1, maybe=Leader(id=3, epoch=5))

    encoded = encode(answer, 2)

    assert encoded == bytes.fromhex("00000001 01  8301 0a 01 00000003 00000005 00")
    assert decode(Answer, 2, encoded) == answer


def test_decoder_keeps_unknown_tags_and_encoder_writes_them_again() -> None:
    newer = bytes.fromhex("00000001 03  00 02 0263  01 01 ff  03 08 0000000000000007")

    answer = decode(Answer, 1, newer)

    assert answer == Answer(number=1, cluster="c")
    assert answer.unknown_tags == ((1, b"\xff"), (3, bytes.fromhex("0000000000000007")))
    assert encode(answer, 1) == newer


def test_decoder_keeps_unknown_tags_of_structs_and_encoder_writes_them_even_in_a_default_one() -> None:
    newer = bytes.fromhex("00000001 01  02 0c ffffffff ffffffff 01 05 01 aa")

    answer = decode(Answer, 1, newer)

    assert answer.leader == Leader()
    assert answer.leader.unknown_tags == ((5, b"\xaa"),)
    assert encode(answer, 1) == newer


def test_decoder_takes_tagged_fields_in_any_order() -> None:
    swapped = bytes.fromhex("00000001 02  02 09 00000003 00000005 00  00 02 0263")

    assert decode(Answer, 1, swapped) == Answer(number=1, cluster="c", leader=Leader(id=3, epoch=5))


def test_decoder_reads_tags_and_sizes_of_several_bytes() -> None:
    newer = bytes.fromhex("00000001 01  ac02 8101") + bytes(129)

    assert decode(Answer, 1, newer).unknown_tags == ((300, bytes(129)),)


def test_unknown_tags_do_not_count_in_comparison_or_representation() -> None:
    plain = Answer(number=1)

    kept = replace(plain, unknown_tags=((9, b"x"),))

    assert kept == plain
    assert repr(kept) == repr(plain)


def test_encoder_prefers_the_field_to_an_unknown_tag_that_the_version_knows() -> None:
    kept = Answer(number=1, mark=7, unknown_tags=((3, b"x"), (1, b"y"), (1, b"z")))

    assert encode(kept, 2) == bytes.fromhex("00000001 02  01 01 7a  03 08 0000000000000007")


def test_encoder_refuses_unknown_tags_in_a_version_without_tagged_fields() -> None:
    kept = Answer(number=1, unknown_tags=((3, b"x"),))

    with pytest.raises(LocalProtocolError, match=r"Answer v0: .*no tagged fields"):
        encode(kept, 0)


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        pytest.param("01 03 07 0000000000000007", "mark at byte 15: the size of a tagged", id="too short a size"),
        pytest.param("01 03 09 0000000000000007 00", "mark at byte 15: the size of a tagged", id="too long a size"),
        pytest.param("01 09 05 00", "a length of 5 with 1 bytes left", id="size past the end"),
        pytest.param("05 00 02 0263", "the bytes end too early", id="fewer fields than counted"),
    ],
)
def test_decoder_refuses_tagged_fields_that_do_not_fit(tags: str, expected: str) -> None:
    encoded = bytes.fromhex("00000001" + tags)

    with pytest.raises(DecodeError, match=expected):
        decode(Answer, 2, encoded)
