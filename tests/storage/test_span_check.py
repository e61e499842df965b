"""The check of what was read from a segment: batches follow one another, whole and undamaged (rule LOG-30)."""

from __future__ import annotations

import pytest

from raft.epoch_cache import EpochCache
from raft.errors import DecodeError
from raft.storage.span_check import SpanCheck
from raft.types import Epoch, EpochStart, Offset
from tests.storage.logs import batch

BATCHES = [batch(5, epoch=1, count=2).payload, batch(7, epoch=2, count=2).payload]
WHOLE = b"".join(BATCHES)
EPOCHS = EpochCache(
    (
        EpochStart(epoch=Epoch(1), start_offset=Offset(0)),
        EpochStart(epoch=Epoch(2), start_offset=Offset(7)),
    )
)


def checked(content: bytes, check: SpanCheck, *, piece_bytes: int = 1 << 20) -> None:
    for at in range(0, len(content), piece_bytes):
        check.feed(content[at : at + piece_bytes])
    check.finish()


@pytest.mark.rule("LOG-30")
@pytest.mark.parametrize("piece_bytes", [1, 7, 61, 100, 1 << 20])
def test_sound_batches_pass_in_pieces_of_any_size(piece_bytes: int) -> None:
    check = SpanCheck(epochs=EPOCHS, next_offset=Offset(5), last_offset=Offset(6))

    checked(WHOLE, check, piece_bytes=piece_bytes)

    assert check.checked_bytes == len(WHOLE)


@pytest.mark.rule("LOG-30")
@pytest.mark.parametrize("kept_bytes", [1, 60, len(BATCHES[1]) - 1])
def test_read_that_ends_within_a_batch_is_refused(kept_bytes: int) -> None:
    check = SpanCheck(next_offset=Offset(5))

    with pytest.raises(DecodeError, match=f"^{kept_bytes} bytes are not a batch"):
        checked(WHOLE[: len(BATCHES[0]) + kept_bytes], check)

    assert check.checked_bytes == len(BATCHES[0])


@pytest.mark.rule("LOG-30")
@pytest.mark.parametrize(
    ("content", "check", "message"),
    [
        pytest.param(WHOLE, SpanCheck(next_offset=Offset(4)), "offset 5, expected 4", id="it begins elsewhere"),
        pytest.param(BATCHES[0] + BATCHES[0], SpanCheck(), "offset 5, expected 7", id="a batch comes twice"),
        pytest.param(WHOLE, SpanCheck(last_offset=Offset(8)), "last offset 6, expected 8", id="other than indexed"),
        pytest.param(BATCHES[1] + BATCHES[0], SpanCheck(has_gaps=True), "offset 5, expected 9", id="back, with gaps"),
        pytest.param(batch(7, epoch=1).payload, SpanCheck(epochs=EPOCHS), "epoch", id="of an older epoch"),
    ],
)
def test_batch_that_does_not_follow_is_refused(content: bytes, check: SpanCheck, message: str) -> None:
    with pytest.raises(DecodeError, match=message):
        checked(content, check)


@pytest.mark.rule("LOG-30")
def test_gaps_are_allowed_between_compacted_batches() -> None:
    check = SpanCheck(has_gaps=True)

    checked(BATCHES[0] + batch(90).payload, check)

    assert check.checked_bytes == len(BATCHES[0]) + len(batch(90).payload)
