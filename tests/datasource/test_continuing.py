"""Where the next batch starts: after the last one, unless the log is not the one it was."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from datasource.offsets import LogPoint, Reached
from datasource.options import ReadOptions
from datasource.planning import DataLossError, committed_end, continue_from
from datasource.stream_reader import KraftStreamReader
from raft.errors import ConfigError
from raft.types import Epoch, Offset, OffsetAndEpoch
from tests.client.kafka import Controller, a_batch
from tests.client.table import CLUSTER_ID as KAFKAS_CLUSTER_ID
from tests.datasource.logs import CLUSTER_ID, ControllerClient, Log, LogClient


def options(*, fail_on_data_loss: bool = True, api_timeout_ms: int = 60_000) -> ReadOptions:
    return ReadOptions.of(
        {
            "kraft.bootstrap.servers": "h:1",
            "failOnDataLoss": str(fail_on_data_loss),
            "kraft.default.api.timeout.ms": str(api_timeout_ms),
        }
    )


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
        [1] * 9, 6, reached(4, 1), "offsets 4 to 6 are gone: the log starts at 6", (6, 1), id="beginning is gone"
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


SNAPSHOTS = [
    OffsetAndEpoch(offset=Offset(6), epoch=Epoch(3)),
    OffsetAndEpoch(offset=Offset(8), epoch=Epoch(5)),
]
BATCHES = [a_batch(0, epoch=1), a_batch(2, epoch=1), a_batch(4, epoch=3), a_batch(6, epoch=5), a_batch(8, epoch=5)]


def next_start_of_kafkas(at: Reached, read: ReadOptions, *, starts_at_snapshot: bool) -> tuple[int, int]:
    batches = BATCHES[3:] if starts_at_snapshot else BATCHES
    client = ControllerClient(Controller(batches, snapshots=SNAPSHOTS, starts_at_snapshot=starts_at_snapshot))
    point = continue_from(client, read, at, client.log_end())
    return point.offset, point.epoch


@pytest.mark.parametrize(
    ("offset", "epoch", "starts_at_snapshot"),
    [
        pytest.param(2, 1, False, id="older than the oldest snapshot's epoch"),
        pytest.param(4, 1, False, id="at the end of such an epoch"),
        pytest.param(6, 3, False, id="at the end of the oldest snapshot"),
        pytest.param(7, 5, False, id="newer than it"),
        pytest.param(6, 3, True, id="at the start of the log"),
        pytest.param(10, 5, True, id="nothing new"),
    ],
)
def test_batch_starts_where_the_last_one_ended_though_controllers_have_snapshots(
    offset: int, epoch: int, starts_at_snapshot: bool
) -> None:
    at = reached(offset, epoch, cluster_id=KAFKAS_CLUSTER_ID)

    assert next_start_of_kafkas(at, options(), starts_at_snapshot=starts_at_snapshot) == (offset, epoch)


@pytest.mark.parametrize(
    ("offset", "epoch", "starts_at_snapshot", "message", "goes_on_at"),
    [
        pytest.param(9, 1, False, "the log is not the one of the checkpoint", (8, 5), id="snapshot is of later epochs"),
        pytest.param(6, 4, False, "it leaves it at offset 6 of epoch 3", (6, 3), id="epoch never was"),
        pytest.param(4, 1, True, "offsets 4 to 6 are gone", (6, 3), id="beginning is gone"),
    ],
)
def test_data_loss_is_found_though_controllers_have_snapshots(
    offset: int, epoch: int, starts_at_snapshot: bool, message: str, goes_on_at: tuple[int, int]
) -> None:
    at = reached(offset, epoch, cluster_id=KAFKAS_CLUSTER_ID)

    with pytest.raises(DataLossError, match=message):
        next_start_of_kafkas(at, options(), starts_at_snapshot=starts_at_snapshot)

    tolerant = options(fail_on_data_loss=False)
    assert next_start_of_kafkas(at, tolerant, starts_at_snapshot=starts_at_snapshot) == goes_on_at


class LateClient(LogClient):
    """Asks a leader that was deposed and does not know it yet, so many times; then the one that leads."""

    def __init__(self, deposed: Log, log: Log, *, times: int) -> None:
        super().__init__(deposed)
        self._leading = log
        self._times_left = times

    def log_end(self) -> Offset:
        if self._times_left == 0:
            self._log = self._leading
            self.start_over(epoch=self._leading.view.last_epoch)
        self._times_left -= 1
        return super().log_end()


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_stream_goes_on_when_a_deposed_leader_was_asked_before_the_one_that_leads(
    monkeypatch: pytest.MonkeyPatch, fail_on_data_loss: bool
) -> None:
    client = LateClient(Log(epochs=[4] * 90), Log(epochs=[4] * 100 + [5] * 10), times=3)
    monkeypatch.setattr("datasource.stream_reader.Client", lambda settings: client)
    reader = KraftStreamReader(options(fail_on_data_loss=fail_on_data_loss))

    planned = reader.latestOffset(reached(100, 4).to_json(), ReadAllAvailable())

    assert planned == reached(110, 5).to_json()


@pytest.mark.parametrize(
    ("at", "api_timeout_ms"),
    [
        pytest.param(reached(100, 4), 120, id="for as long as a call may take"),
        pytest.param(reached(100, 4, cluster_id="other"), 60_000, id="once, of another cluster"),
    ],
)
def test_end_before_the_checkpoint_is_believed_in_the_end(at: Reached, api_timeout_ms: int) -> None:
    client = LogClient(Log(epochs=[4] * 90))

    assert committed_end(client, options(api_timeout_ms=api_timeout_ms), at) == 90
