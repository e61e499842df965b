"""The transactions in a producer snapshot: what is read is what was written, and nothing else is read (LOG-22)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.errors import DecodeError
from raft.storage.producer_snapshot import decode_producer_snapshot, encode_producer_snapshot
from raft.storage.transactions_section import read_transactions, write_transactions
from raft.storage.written_entry import WRITTEN
from raft.transactions import (
    CommitImage,
    EndedWrite,
    OpenTransaction,
    ProducerState,
    ProducerStateImage,
    TransactionalProducer,
    TransactionsImage,
)
from raft.transactions.image import NO_TRANSACTIONS
from raft.types import FIRST_PART_PRODUCER_ID, ControlType, Offset
from raft.writers import TableImage, Written
from tests.storage.test_producer_snapshots import sealed
from tests.transactions.headers import (
    OTHER_PART,
    PART,
    PRODUCER,
    abort,
    commit,
    data,
    part,
    transactional_id,
    write_commit,
)

END = Offset(1000)
"""The end offset of the snapshots."""

producer_ids = st.integers(0, (1 << 63) - 1)
epochs = st.integers(0, (1 << 15) - 1)
int64s = st.integers(-(1 << 63), (1 << 63) - 1)
checksums = st.integers(0, (1 << 64) - 1)


@st.composite
def writtens(draw: st.DrawFn) -> Written:
    base_offset = draw(st.integers(0, END - 1))
    return Written(
        epoch=draw(epochs),
        sequence=draw(st.integers(0, (1 << 31) - 1)),
        record_count=draw(st.integers(0, (1 << 31) - 1)),
        base_offset=Offset(base_offset),
        end_offset=Offset(draw(st.integers(base_offset + 1, END))),
        log_time_ms=draw(int64s),
        content_checksum=draw(st.none() | checksums),
    )


@st.composite
def open_transactions(draw: st.DrawFn) -> OpenTransaction:
    first_offset = draw(st.integers(0, END - 1))
    return OpenTransaction(
        producer_id=draw(producer_ids),
        producer_epoch=draw(epochs),
        first_offset=Offset(first_offset),
        last_offset=Offset(draw(st.integers(first_offset, END - 1))),
        first_timestamp_ms=draw(int64s),
        last_timestamp_ms=draw(int64s),
        record_count=draw(st.integers(1, (1 << 63) - 1)),
        content_checksum=draw(checksums),
        history=draw(st.lists(writtens(), max_size=5).map(tuple)),
    )


producers = st.builds(
    TransactionalProducer,
    name=st.text(max_size=12),
    producer_id=producer_ids,
    producer_epoch=epochs,
    timeout_ms=st.integers(0, (1 << 31) - 1),
    previous=st.none() | st.tuples(producer_ids, epochs),
    last_end=st.sampled_from([None, ControlType.ABORT, ControlType.COMMIT]),
    used_at=st.integers(0, END - 1).map(Offset),
)


@st.composite
def ended_writes(draw: st.DrawFn) -> tuple[EndedWrite, ...]:
    """Ranges in order, which may touch."""
    bounds = sorted(draw(st.sets(st.integers(0, END), max_size=6)))
    return tuple(
        EndedWrite(first_offset=Offset(first), end_offset=Offset(end))
        for first, end in pairwise(bounds)
        if draw(st.booleans())
    )


@st.composite
def images(draw: st.DrawFn) -> TransactionsImage:
    """Images in which all parts of commits are open transactions."""
    transactions = draw(st.lists(open_transactions(), max_size=3).map(tuple))
    commits = []
    for _ in range(draw(st.integers(0, 3)) if transactions else 0):
        first_offset = draw(st.integers(0, END - 2))
        missing = draw(st.lists(st.sampled_from(transactions), min_size=1, max_size=4))
        commits.append(
            CommitImage(
                offset=Offset(draw(st.integers(first_offset + 1, END - 1))),
                first_offset=Offset(first_offset),
                missing=tuple(transaction.producer_id for transaction in missing),
            )
        )
    return TransactionsImage(
        transactions=transactions,
        producers=draw(st.lists(producers, max_size=3).map(tuple)),
        commits=tuple(commits),
        ended_writes=draw(ended_writes()),
    )


def read(content: bytes, *, has_ended_writes: bool = False) -> TransactionsImage:
    """Read a section that is all there is; as in a snapshot, a section that ends early is a struct.error."""
    image, position = read_transactions(content, 0, END, has_ended_writes=has_ended_writes)
    assert position == len(content), f"{position} of {len(content)} bytes were read"
    return image


@pytest.mark.rule("LOG-22")
@given(image=images(), before=st.binary(max_size=5), behind=st.binary(max_size=5))
def test_transactions_are_what_they_were_when_read_again(
    image: TransactionsImage, before: bytes, behind: bytes
) -> None:
    content = write_transactions(image)

    again, position = read_transactions(
        before + content + behind, len(before), END, has_ended_writes=bool(image.ended_writes)
    )

    assert again == image
    assert position == len(before) + len(content)


BATCH = Written(
    epoch=1,
    sequence=2,
    record_count=3,
    base_offset=Offset(5),
    end_offset=Offset(8),
    log_time_ms=9,
    content_checksum=10,
)
TRANSACTION = OpenTransaction(
    producer_id=7,
    producer_epoch=1,
    first_offset=Offset(5),
    last_offset=Offset(7),
    first_timestamp_ms=11,
    last_timestamp_ms=12,
    record_count=3,
    content_checksum=13,
)
PART_TRANSACTION = replace(TRANSACTION, producer_id=FIRST_PART_PRODUCER_ID, history=(BATCH, BATCH))
NAMED = TransactionalProducer(name="ordérs", producer_id=7, producer_epoch=1, timeout_ms=60_000, used_at=Offset(4))
ENDED = replace(NAMED, name="", previous=(7, 0), last_end=ControlType.COMMIT)
COMMIT = CommitImage(offset=Offset(9), first_offset=Offset(5), missing=(FIRST_PART_PRODUCER_ID, 7))
ENDED_WRITES = (
    EndedWrite(first_offset=Offset(2), end_offset=Offset(9)),
    EndedWrite(first_offset=Offset(9), end_offset=END),
)
EVERYTHING = TransactionsImage(
    transactions=(TRANSACTION, PART_TRANSACTION),
    producers=(NAMED, ENDED),
    commits=(COMMIT, COMMIT),
    ended_writes=ENDED_WRITES,
)
"""Every shape that an entry can have."""

WRITTEN_HEX = "0001 00000002 0000000000000003 0000000000000005 0000000000000008 0000000000000009 01 000000000000000a"


@pytest.mark.parametrize(
    ("image", "content"),
    [
        pytest.param(NO_TRANSACTIONS, "00000000 00000000 00000000", id="nothing"),
        pytest.param(
            TransactionsImage(transactions=(replace(TRANSACTION, history=(BATCH,)),)),
            "00000001 0000000000000007 0001 0000000000000005 0000000000000007 000000000000000b 000000000000000c"
            f"0000000000000003 000000000000000d 01 {WRITTEN_HEX} 00000000 00000000",
            id="an open transaction",
        ),
        pytest.param(
            TransactionsImage(producers=(NAMED,)),
            "00000000 00000001 0000000000000007 0001 0000ea60 ffffffffffffffff ffff ff 0000000000000004 0007"
            "6f7264c3a97273 00000000",
            id="a transactional id",
        ),
        pytest.param(
            TransactionsImage(producers=(ENDED,)),
            "00000000 00000001 0000000000000007 0001 0000ea60 0000000000000007 0000 01 0000000000000004 0000 00000000",
            id="a transactional id that ended a transaction",
        ),
        pytest.param(
            TransactionsImage(transactions=(TRANSACTION,), commits=(replace(COMMIT, missing=(7,)),)),
            "00000001 0000000000000007 0001 0000000000000005 0000000000000007 000000000000000b 000000000000000c"
            "0000000000000003 000000000000000d 00 00000000 00000001 0000000000000009 0000000000000005 00000001"
            "0000000000000007",
            id="a commit",
        ),
        pytest.param(
            TransactionsImage(ended_writes=ENDED_WRITES),
            "00000000 00000000 00000000 00000002 0000000000000002 0000000000000009 0000000000000009 00000000000003e8",
            id="ended writes",
        ),
    ],
)
def test_section_has_for_ever_the_bytes_with_which_it_was_first_written(image: TransactionsImage, content: str) -> None:
    assert write_transactions(image) == bytes.fromhex(content)
    assert read(bytes.fromhex(content), has_ended_writes=bool(image.ended_writes)) == image


def test_section_is_refused_when_it_ends_early() -> None:
    content = write_transactions(EVERYTHING)
    assert read(content, has_ended_writes=True) == EVERYTHING

    for size_bytes in range(len(content)):
        with pytest.raises((DecodeError, struct.error)):
            read(content[:size_bytes], has_ended_writes=True)


def snapshot_of(section: bytes, *, version: int = 3) -> bytes:
    """A snapshot without writers, with this section and a good checksum."""
    return sealed(struct.pack(">i4shqq", 0, b"KSPK", version, -1, -1) + section)


@pytest.mark.rule("LOG-22")
def test_snapshot_is_refused_when_its_section_ends_early() -> None:
    content = write_transactions(EVERYTHING)

    for size_bytes in range(len(content)):
        with pytest.raises(DecodeError):
            decode_producer_snapshot(snapshot_of(content[:size_bytes]), end_offset=END)


@pytest.mark.rule("LOG-22")
@pytest.mark.parametrize(("ended", "version"), [((), 2), (ENDED_WRITES, 3)], ids=["none", "some"])
def test_snapshot_has_a_new_version_only_with_ended_writes(ended: tuple[EndedWrite, ...], version: int) -> None:
    image = TransactionsImage(transactions=(TRANSACTION,), ended_writes=ended)
    table = TableImage(end_offset=END, log_time_ms=-1, first_log_time_ms=-1, histories={})

    content = encode_producer_snapshot(ProducerStateImage(writers=table, transactions=image))

    assert content == snapshot_of(write_transactions(image), version=version)
    assert decode_producer_snapshot(content, end_offset=END).transactions == image


@pytest.mark.rule("LOG-22")
def test_snapshot_is_refused_when_bytes_follow_its_section() -> None:
    with pytest.raises(DecodeError, match="with 1 bytes behind its end"):
        decode_producer_snapshot(snapshot_of(write_transactions(EVERYTHING) + b"?"), end_offset=END)


COUNTS = struct.pack(">i", 0) * 3


def transaction_bytes(
    *, first: int = 5, last: int = 7, records: int = 3, batches: int = 0, history: bytes = b""
) -> bytes:
    entry = struct.pack(">qhqqqqqQb", 7, 1, first, last, 11, 12, records, 13, batches)
    return struct.pack(">i", 1) + entry + history + COUNTS[:8]


def producer_bytes(*, size_bytes: int = 4, name: bytes = b"name") -> bytes:
    entry = struct.pack(">qhiqhbqh", 7, 1, 60_000, -1, -1, -1, 4, size_bytes)
    return struct.pack(">ii", 0, 1) + entry + name + COUNTS[:4]


def commit_bytes(*, count: int = 1, producer_ids: tuple[int, ...] = (7,), offset: int = 9, first: int = 5) -> bytes:
    """A commit, and a transaction of producer id 7."""
    missing = struct.pack(f">{len(producer_ids)}q", *producer_ids)
    return transaction_bytes()[:-4] + struct.pack(">iqqi", 1, offset, first, count) + missing


def ended_bytes(*ranges: tuple[int, int]) -> bytes:
    """Ended writes, and nothing else."""
    return COUNTS + struct.pack(">i", len(ranges)) + b"".join(struct.pack(">qq", *each) for each in ranges)


def written_bytes(*, base_offset: int = 5, end_offset: int = 8, records: int = 3) -> bytes:
    return struct.pack(">hiqqqqbQ", 1, 2, records, base_offset, end_offset, 9, 1, 10)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(COUNTS, id="nothing"),
        pytest.param(transaction_bytes(), id="a transaction"),
        pytest.param(transaction_bytes(last=END - 1), id="up to the end"),
        pytest.param(transaction_bytes(batches=1, history=written_bytes()), id="a part"),
        pytest.param(producer_bytes(), id="a transactional id"),
        pytest.param(commit_bytes(), id="a commit"),
    ],
)
def test_section_is_read_when_its_numbers_are_possible(content: bytes) -> None:
    assert write_transactions(read(content)) == content


@pytest.mark.rule("LOG-22")
@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(commit_bytes(producer_ids=(8,)), "not all of which are open", id="part that is not open"),
        pytest.param(commit_bytes(offset=int(END)), "with a commit from 5", id="commit at the end"),
        pytest.param(commit_bytes(first=9), "with a commit from 9 to 9", id="commit before its parts"),
        pytest.param(struct.pack(">i", -1) + COUNTS, "with -1 entries in 16 bytes", id="negative count"),
        pytest.param(struct.pack(">i", 1) + COUNTS, "with 1 entries in 16 bytes", id="more transactions than bytes"),
        pytest.param(struct.pack(">ii", 0, 2) + COUNTS, "with 2 entries", id="more transactional ids than bytes"),
        pytest.param(
            struct.pack(">iii", 0, 0, (1 << 31) - 1) + COUNTS, "entries in 24 bytes", id="more commits than bytes"
        ),
        pytest.param(transaction_bytes(first=-1), "of 3 records from -1 to 7", id="negative first offset"),
        pytest.param(transaction_bytes(last=4), "from 5 to 4", id="last before first"),
        pytest.param(transaction_bytes(last=END), f"from 5 to {END}", id="behind the end of the log"),
        pytest.param(transaction_bytes(records=0), "a transaction of 0 records", id="no records"),
        pytest.param(transaction_bytes(batches=-1), "a transaction of 3 records", id="negative number of batches"),
        pytest.param(
            transaction_bytes(batches=1, history=written_bytes(base_offset=8)), "a batch from 8 to 8", id="empty batch"
        ),
        pytest.param(
            transaction_bytes(batches=1, history=written_bytes(end_offset=END + 1)),
            f"a batch from 5 to {END + 1}",
            id="batch behind the end of the log",
        ),
        pytest.param(
            transaction_bytes(batches=1, history=written_bytes(records=-1)),
            "a batch from 5 to 8",
            id="negative record count of a batch",
        ),
        pytest.param(producer_bytes(size_bytes=-1), "transactional id of -1 bytes", id="negative size of a name"),
        pytest.param(producer_bytes(size_bytes=99), "transactional id of 99 bytes", id="name is too short"),
        pytest.param(producer_bytes(name=b"\xff\xfe\xfd\xfc"), "that is not UTF-8", id="name is not UTF-8"),
        pytest.param(commit_bytes(count=0, producer_ids=()), "a commit of 0 parts", id="commit without parts"),
        pytest.param(commit_bytes(count=-1), "a commit of -1 parts", id="negative number of parts"),
        pytest.param(commit_bytes(count=2), "a commit of 2 parts", id="more parts than bytes"),
        pytest.param(commit_bytes(count=(1 << 31) - 1), "parts", id="two billion parts"),
    ],
)
def test_section_is_refused_with_the_reason_when_a_number_is_impossible(content: bytes, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason):
        read(content)
    with pytest.raises(DecodeError, match=reason.split(" in ")[0]):
        decode_producer_snapshot(snapshot_of(content, version=2), end_offset=END)


def test_ended_writes_are_read_when_they_are_in_order() -> None:
    content = ended_bytes((0, 9), (9, 12), (20, END))

    assert write_transactions(read(content, has_ended_writes=True)) == content


@pytest.mark.rule("LOG-22")
@pytest.mark.parametrize(
    ("ranges", "reason"),
    [
        pytest.param(((-1, 5),), "an ended write from -1 to 5", id="negative first offset"),
        pytest.param(((5, 5),), "an ended write from 5 to 5", id="empty"),
        pytest.param(((5, 4),), "an ended write from 5 to 4", id="end before its begin"),
        pytest.param(((5, END + 1),), f"an ended write from 5 to {END + 1}", id="behind the end of the log"),
        pytest.param(((5, 9), (8, 12)), "an ended write from 8 to 12", id="two that overlap"),
        pytest.param(((5, 9), (1, 3)), "an ended write from 1 to 3", id="out of order"),
    ],
)
def test_snapshot_is_refused_with_the_reason_when_an_ended_write_is_impossible(
    ranges: tuple[tuple[int, int], ...], reason: str
) -> None:
    with pytest.raises(DecodeError, match=reason):
        decode_producer_snapshot(snapshot_of(ended_bytes(*ranges)), end_offset=END)


@pytest.mark.rule("LOG-22")
@given(seed=st.integers(0, 1 << 32), changed=st.integers(1, 4))
def test_section_with_any_bytes_changed_is_refused_or_read_as_another_one(seed: int, changed: int) -> None:
    random = Random(seed)
    content = bytearray(write_transactions(EVERYTHING))
    for _ in range(changed):
        content[random.randrange(len(content))] = random.randrange(256)

    try:
        image, position = read_transactions(bytes(content), 0, END, has_ended_writes=True)
    except (DecodeError, struct.error):
        return

    assert position <= len(content)
    assert read(write_transactions(image), has_ended_writes=bool(image.ended_writes)) == image


# With the table


def states() -> Iterator[ProducerState]:
    """The state of a log after each of its batches."""
    state = ProducerState()
    for header in (
        transactional_id("orders", PRODUCER, 0, epoch=1),
        data(PRODUCER, 1, epoch=1),
        data(8, 2, records=3),
        data(PART, 5, records=2, content=5),
        data(PART, 7, sequence=2, content=6),
        data(OTHER_PART, 8, content=1 << 63),
        write_commit(part(PART, records=3, content=11), part(OTHER_PART, content=1 << 63), at=9),
        commit(PART, 10),
        abort(PRODUCER, 11, epoch=2),
        commit(OTHER_PART, 12),
        data(8, 13, sequence=3),
        abort(8, 14),
    ):
        state.appended(header)
        yield state


@pytest.mark.rule("LOG-22")
def test_state_of_a_log_is_the_same_after_a_snapshot_of_any_end() -> None:
    for end, state in zip((1, 2, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15), states(), strict=True):
        image = state.image(Offset(end))

        content = encode_producer_snapshot(image)
        again = ProducerState()
        again.restore(decode_producer_snapshot(content, end_offset=Offset(end)))

        assert again.image(Offset(end)) == image


@pytest.mark.rule("LOG-22")
def test_kafka_finds_the_first_offset_of_the_transaction_under_way() -> None:
    state = ProducerState()
    for header in (data(PRODUCER, 1, records=2), data(PRODUCER, 4, sequence=2), data(8, 5), commit(8, 6)):
        state.appended(header)

    content = encode_producer_snapshot(state.image(Offset(7)))

    (count,) = struct.unpack_from(">i", content, 6)
    entries = [struct.unpack_from(">qhiqiqiq", content, 10 + 46 * at) for at in range(count)]
    assert [(entry[0], entry[-1]) for entry in entries] == [(PRODUCER, 1), (8, -1)]


def test_entry_of_a_batch_has_47_bytes() -> None:
    assert len(written_bytes()) == WRITTEN.size == 47
