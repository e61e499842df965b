"""The epoch cache: what a new epoch and a truncation leave of it. Its results for a log are in core/test_log_view."""

import pytest

from raft.epoch_cache import EpochCache
from raft.types import Epoch, EpochStart, Offset


def cache(*pairs: tuple[int, int]) -> EpochCache:
    return EpochCache(tuple(EpochStart(epoch=Epoch(epoch), start_offset=Offset(start)) for epoch, start in pairs))


TWO_EPOCHS = cache((1, 0), (3, 20))


@pytest.mark.parametrize(
    ("epoch", "start", "expected"),
    [
        pytest.param(5, 30, cache((1, 0), (3, 20), (5, 30)), id="behind all"),
        pytest.param(5, 20, cache((1, 0), (5, 20)), id="replaces one that wrote nothing"),
        pytest.param(5, 10, cache((1, 0), (5, 10)), id="replaces later starts"),
        pytest.param(2, 30, cache((1, 0), (2, 30)), id="replaces higher epochs"),
        pytest.param(1, 0, cache((1, 0)), id="replaces all"),
        pytest.param(3, 15, cache((1, 0), (3, 15)), id="replaces the newest epoch at an earlier offset"),
        pytest.param(3, 20, TWO_EPOCHS, id="the newest epoch again"),
        pytest.param(3, 25, TWO_EPOCHS, id="the newest epoch at a later offset"),
    ],
)
@pytest.mark.rule("LOG-12")
def test_new_epoch_replaces_the_entries_at_or_past_it(epoch: int, start: int, expected: EpochCache) -> None:
    assert TWO_EPOCHS.with_epoch(Epoch(epoch), Offset(start)) == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        pytest.param(21, TWO_EPOCHS, id="behind the last start"),
        pytest.param(20, cache((1, 0)), id="at a start"),
        pytest.param(0, cache(), id="everything"),
    ],
)
@pytest.mark.rule("DIVERGE-6")
def test_truncation_removes_epochs_that_begin_there_or_later(end: int, expected: EpochCache) -> None:
    assert TWO_EPOCHS.truncated(Offset(end)) == expected


@pytest.mark.parametrize(
    ("offset", "epochs"),
    [
        pytest.param(0, [1, 3], id="at the first start"),
        pytest.param(19, [1, 3], id="before the second start"),
        pytest.param(20, [3], id="at the second start"),
        pytest.param(99, [3], id="behind all starts"),
    ],
)
def test_entries_begin_with_the_epoch_that_holds_the_offset(offset: int, epochs: list[int]) -> None:
    assert [entry.epoch for entry in TWO_EPOCHS.entries_from(Offset(offset))] == epochs


def test_entries_are_all_when_the_offset_is_before_them() -> None:
    assert cache((2, 10), (3, 20)).entries_from(Offset(5)) == cache((2, 10), (3, 20)).entries


@pytest.mark.parametrize(("offset", "epoch"), [(0, None), (1, 1), (20, 1), (21, 3), (99, 3)], ids=str)
def test_epoch_before_an_offset_is_that_of_the_record_before_it(offset: int, epoch: int | None) -> None:
    assert TWO_EPOCHS.epoch_before(Offset(offset)) == epoch
