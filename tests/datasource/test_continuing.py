"""Where the next batch starts: after the last one, unless the log is not the one it was."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from datasource.offsets import LogPoint, Reached
from datasource.options import ReadOptions
from datasource.planning import DataLossError, continue_from
from raft.errors import ConfigError
from raft.types import Epoch, Offset
from tests.datasource.logs import CLUSTER_ID, Log, LogClient


def options(*, fail_on_data_loss: bool = True) -> ReadOptions:
    return ReadOptions.of({"kraft.bootstrap.servers": "h:1", "failOnDataLoss": str(fail_on_data_loss)})


def reached(offset: int, epoch: int, *, cluster_id: str = CLUSTER_ID) -> Reached:
    return Reached(cluster_id=cluster_id, point=LogPoint(offset=Offset(offset), epoch=Epoch(epoch)))


def next_start(epochs: Sequence[int], at: Reached, read: ReadOptions, *, start: int = 0) -> tuple[int, int]:
    """Continue in a log of these epochs; return offset and epoch of the point."""
    client = LogClient(Log(epochs=epochs, start=start))
    point = continue_from(client, read, at, client.log_end())
    return point.offset, point.epoch


@pytest.mark.parametrize(
    ("epochs", "at"),
    [
        pytest.param([1, 1, 1], reached(3, 1), id="nothing new"),
        pytest.param([1, 1, 1, 1], reached(2, 1), id="more of the same epoch"),
        pytest.param([1, 1, 4, 4], reached(2, 1), id="a new epoch begins just there"),
        pytest.param([1, 1, 4, 4, 9], reached(3, 4), id="in the middle of an epoch"),
        pytest.param([1, 1], reached(0, 0), id="nothing was read yet"),
        pytest.param([], reached(0, 0), id="an empty log"),
    ],
)
def test_batch_starts_where_the_last_one_ended(epochs: list[int], at: Reached) -> None:
    assert next_start(epochs, at, options()) == (at.point.offset, at.point.epoch)


LOST = [
    pytest.param(
        [1, 1, 1], 0, reached(8, 1), "the log ends at 3, before the checkpoint's offset 8", (3, 1), id="shorter"
    ),
    pytest.param([], 0, reached(8, 1), "the log ends at 0, before the checkpoint's offset 8", (0, 0), id="empty"),
    pytest.param(
        [1, 1, 2, 2, 2], 0, reached(4, 1), "not the one of the checkpoint (offset 4, epoch 1)", (2, 1), id="epoch ended"
    ),
    pytest.param([1, 1, 5, 5], 0, reached(3, 3), "it leaves it at offset 2 of epoch 1", (2, 1), id="epoch never was"),
    pytest.param([2, 2, 2], 0, reached(2, 1), "(offset 2, epoch 1)", (0, 0), id="all epochs are later"),
    pytest.param(
        [1] * 9, 6, reached(4, 1), "offsets 4 to 6 are gone: the log starts at 6", (6, 0), id="beginning is gone"
    ),
]


@pytest.mark.parametrize(("epochs", "start", "at", "message", "_goes_on_at"), LOST)
def test_batch_is_refused_when_records_are_gone(
    epochs: list[int], start: int, at: Reached, message: str, _goes_on_at: tuple[int, int]
) -> None:
    with pytest.raises(DataLossError) as refusal:
        next_start(epochs, at, options(), start=start)

    assert message in str(refusal.value)
    assert "set failOnDataLoss to false" in str(refusal.value)


@pytest.mark.parametrize(("epochs", "start", "at", "message", "goes_on_at"), LOST)
def test_batch_goes_on_with_a_warning_when_it_may_lose_data(
    epochs: list[int],
    start: int,
    at: Reached,
    message: str,
    goes_on_at: tuple[int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        point = next_start(epochs, at, options(fail_on_data_loss=False), start=start)

    assert point == goes_on_at
    assert [message in record.getMessage() for record in caplog.records] == [True]


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_batch_of_another_cluster_is_refused_whatever_the_option_says(fail_on_data_loss: bool) -> None:
    with pytest.raises(ConfigError, match=f"checkpoint is of cluster other, the quorum is cluster {CLUSTER_ID}"):
        next_start([1, 1], reached(1, 1, cluster_id="other"), options(fail_on_data_loss=fail_on_data_loss))
