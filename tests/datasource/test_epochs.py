"""The epoch of the record before an offset of a log, against a model: the list of each record's epoch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from datasource.micro_batch import epoch_before
from raft.types import Epoch, Offset, OffsetAndEpoch
from tests.client.kafka import EPOCH, Controller, a_batch
from tests.datasource.logs import ControllerClient, Log, LogClient

runs = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5)), min_size=1, max_size=12)
"""Epochs that wrote something: how far from the one before, as some epochs have no data, and how many records."""


def epochs_of(parts: list[tuple[int, int]]) -> list[int]:
    """One epoch for each record."""
    epochs: list[int] = []
    epoch = 0
    for gap, length in parts:
        epoch += gap
        epochs += [epoch] * length
    return epochs


@given(runs, st.data())
def test_epoch_before_any_offset_is_found_from_any_lower_bound(
    parts: list[tuple[int, int]], data: st.DataObject
) -> None:
    epochs = epochs_of(parts)
    offset = data.draw(st.integers(0, len(epochs)), label="offset")
    expected = epochs[offset - 1] if offset else 0
    at_least = data.draw(st.integers(0, expected), label="at least")

    found = epoch_before(LogClient(Log(epochs=epochs)), Offset(offset), Epoch(at_least))

    assert found == expected


@given(runs)
def test_one_request_is_enough_when_the_epoch_is_still_the_same(parts: list[tuple[int, int]]) -> None:
    epochs = epochs_of(parts)
    client = LogClient(Log(epochs=epochs))

    for offset in range(1, len(epochs) + 1):
        client.questions = 0
        assert epoch_before(client, Offset(offset), Epoch(epochs[offset - 1])) == epochs[offset - 1]
        assert client.questions <= 1, f"offset {offset}"


def test_number_of_requests_grows_with_the_logarithm_of_the_epochs() -> None:
    epochs = list(range(1, 5001))
    client = LogClient(Log(epochs=epochs))

    assert epoch_before(client, Offset(2500), Epoch(0)) == 2500
    assert client.questions <= 1 + 13


def test_no_request_is_needed_for_offset_0() -> None:
    client = LogClient(Log(epochs=[3, 3]))

    assert epoch_before(client, Offset(0), Epoch(0)) == 0
    assert client.questions == 0


@given(st.lists(st.integers(1, EPOCH), min_size=1, max_size=8).map(sorted), st.booleans(), st.data())
def test_epoch_is_found_from_controllers_that_know_none_older_than_their_oldest_snapshot(
    batch_epochs: list[int], starts_at_snapshot: bool, data: st.DataObject
) -> None:
    batches = [a_batch(2 * at, epoch=epoch) for at, epoch in enumerate(batch_epochs)]
    behind = data.draw(st.sets(st.integers(0, len(batches)), min_size=1, max_size=3).map(sorted), label="snapshots")
    snapshots = [OffsetAndEpoch(offset=Offset(2 * at), epoch=Epoch([0, *batch_epochs][at])) for at in behind]
    kept = batches[behind[0] :] if starts_at_snapshot else batches
    client = ControllerClient(Controller(kept, snapshots=snapshots, starts_at_snapshot=starts_at_snapshot))
    offset = data.draw(st.integers(max(client.log_start_offset(), 1), client.last_stable_offset()), label="offset")

    found = epoch_before(client, Offset(offset), Epoch(0))

    assert found == max(batch_epochs[(offset - 1) // 2], snapshots[0].epoch)
