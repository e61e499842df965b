"""How many bytes are committed (CLIENT-2)."""

from __future__ import annotations

from random import Random

from raft.core.committed_bytes import CommittedBytes
from raft.types import BatchHeader, Epoch, Offset


def header(offset: int, size_bytes: int) -> BatchHeader:
    return BatchHeader(
        base_offset=Offset(offset), last_offset=Offset(offset), epoch=Epoch(1), size_bytes=size_bytes, record_count=1
    )


def test_bytes_count_once_their_batch_is_committed() -> None:
    counted = CommittedBytes()
    for offset, size_bytes in ((0, 10), (1, 20), (2, 40)):
        counted.append(header(offset, size_bytes))

    totals = []
    for high_watermark in (0, 1, 3, 3):
        counted.commit(Offset(high_watermark))
        totals.append(counted.total)

    assert totals == [0, 10, 70, 70]


def test_bytes_that_were_truncated_never_count() -> None:
    counted = CommittedBytes()
    for offset, size_bytes in ((0, 10), (1, 20), (2, 40)):
        counted.append(header(offset, size_bytes))
    counted.commit(Offset(1))

    counted.truncate(Offset(2))
    counted.append(header(2, 5))
    counted.commit(Offset(3))
    counted.truncate(Offset(3))
    counted.append(header(3, 1))
    counted.commit(Offset(4))

    assert counted.total == 10 + 20 + 5 + 1


def test_bytes_of_many_batches_are_counted_exactly_in_any_order_of_events() -> None:
    dice, counted = Random(1), CommittedBytes()
    batches: list[int] = []
    committed = 0
    for _ in range(3_000):
        for _ in range(dice.randrange(5)):
            batches.append(dice.randrange(1, 100))
            counted.append(header(len(batches) - 1, batches[-1]))
        if dice.random() < 0.1:
            end = dice.randint(committed, len(batches))
            del batches[end:]
            counted.truncate(Offset(end))
        if dice.random() < 0.4:
            committed = dice.randint(committed, len(batches))
            counted.commit(Offset(committed))
        assert counted.total == sum(batches[:committed])
