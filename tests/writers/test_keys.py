"""Keys of keyed writes, as they are in a batch header (an on-disk format)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.types import FIRST_KEYED_PRODUCER_ID, FIRST_PART_PRODUCER_ID
from raft.writers.keys import MAX_VERSION, PARTS_OF_A_WRITE, WriteId, WriteKey, is_reserved, tag_of, version_of


@given(st.integers(0, MAX_VERSION))
def test_version_survives_its_two_header_fields(version: int) -> None:
    key = WriteKey("a query", version)

    assert version_of(key.producer_epoch, key.base_sequence) == version
    assert 0 <= key.producer_epoch < 1 << 15, "fits an int16"
    assert 0 <= key.base_sequence < 1 << 31, "fits an int32"


@given(st.integers(0, MAX_VERSION - 1))
def test_versions_are_ordered_as_their_header_fields_are(version: int) -> None:
    first, second = WriteKey("a query", version), WriteKey("a query", version + 1)

    assert (first.producer_epoch, first.base_sequence) < (second.producer_epoch, second.base_sequence)


@given(st.text())
def test_producer_id_of_every_writer_is_a_positive_int64_above_those_of_idempotent_producers(writer_id: str) -> None:
    assert FIRST_KEYED_PRODUCER_ID <= WriteKey(writer_id, 0).producer_id < 1 << 63


@pytest.mark.parametrize(
    ("writer_id", "producer_id"),
    [
        # 2^62 + the first 62 bits of what sha256sum prints.
        pytest.param("", (1 << 62) + (0xE3B0C44298FC1C14 >> 2), id="empty"),
        pytest.param("a", (1 << 62) + (0xCA978112CA1BBDCA >> 2), id="one letter"),
        pytest.param("f2c1b6f0-6f7b-4a3f-9c0e-2d9a3b1c5e77", (1 << 62) + (0x123CB3AE0162AAF5 >> 2), id="a query id"),
    ],
)
def test_producer_id_is_for_ever_what_it_was_when_it_was_first_written(writer_id: str, producer_id: int) -> None:
    assert WriteKey(writer_id, 0).producer_id == producer_id


@pytest.mark.parametrize(
    ("version", "producer_epoch", "base_sequence"),
    [
        pytest.param(0, 0, 0, id="first"),
        pytest.param((1 << 31) - 1, 0, (1 << 31) - 1, id="last of the first epoch"),
        pytest.param(1 << 31, 1, 0, id="first of the next epoch"),
        pytest.param(MAX_VERSION, (1 << 15) - 1, (1 << 31) - 1, id="last of all"),
    ],
)
def test_version_is_in_epoch_and_sequence(version: int, producer_epoch: int, base_sequence: int) -> None:
    key = WriteKey("a query", version)

    assert (key.producer_epoch, key.base_sequence) == (producer_epoch, base_sequence)


@pytest.mark.parametrize("version", [-1, MAX_VERSION + 1])
def test_version_out_of_range_is_refused_and_named(version: int) -> None:
    with pytest.raises(ValueError, match=f"write version {version}: expected 0 to {MAX_VERSION}"):
        WriteKey("a query", version)


LAST_PRODUCER_ID = (1 << 63) - 1

write_ids = st.builds(WriteId, st.integers(FIRST_KEYED_PRODUCER_ID, LAST_PRODUCER_ID), st.integers(0, MAX_VERSION))


@pytest.mark.rule("TXN-6")
@given(write_ids)
def test_write_is_found_again_by_the_transactional_id_of_its_parts(write: WriteId) -> None:
    assert WriteId.parse(write.transactional_id) == write
    assert is_reserved(write.transactional_id)


def test_transactional_id_of_a_write_is_for_ever_what_it_was_when_it_was_first_sent() -> None:
    write = WriteKey("a", 3).write_id

    assert write.transactional_id == f"kraft-write:{(1 << 62) + (0xCA978112CA1BBDCA >> 2)}:3"


@pytest.mark.rule("TXN-6")
@pytest.mark.parametrize(
    "transactional_id",
    [
        pytest.param("", id="empty"),
        pytest.param("orders", id="of a producer of Kafka"),
        pytest.param("kraft-write", id="no numbers"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}", id="no version"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:3:4", id="one number too many"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:", id="empty version"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:-1", id="negative version"),
        pytest.param("kraft-write:" + "9" * 5000 + ":1", id="producer id of too many digits"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:" + "9" * 5000, id="version of too many digits"),
        pytest.param(f"kraft-write:0{FIRST_KEYED_PRODUCER_ID}:3", id="producer id with a zero in front"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:03", id="version with a zero in front"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:\u0663", id="digits of another script"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID}:{MAX_VERSION + 1}", id="version too large"),
        pytest.param(f"kraft-write:{FIRST_KEYED_PRODUCER_ID - 1}:3", id="producer id of a part"),
        pytest.param(f"kraft-write:{LAST_PRODUCER_ID + 1}:3", id="producer id too large"),
        pytest.param(f"kraft-writes:{FIRST_KEYED_PRODUCER_ID}:3", id="another prefix"),
    ],
)
def test_transactional_id_that_no_write_has_is_not_one_of_a_write(transactional_id: str) -> None:
    assert WriteId.parse(transactional_id) is None


@pytest.mark.rule("TXN-6")
@given(write_ids, st.integers(0, PARTS_OF_A_WRITE - 1))
def test_producer_id_of_a_part_has_the_tag_of_its_write(write: WriteId, number: int) -> None:
    producer_id = write.part_producer_id(number)

    assert FIRST_PART_PRODUCER_ID <= producer_id < FIRST_KEYED_PRODUCER_ID
    assert tag_of(producer_id) == write.tag
    assert producer_id % PARTS_OF_A_WRITE == number
