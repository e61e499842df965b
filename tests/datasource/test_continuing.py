"""Where the next batch starts: after the last one, unless the log was replaced."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from datasource.limits import BatchLimits
from datasource.micro_batch import MicroBatch, next_batch
from datasource.offsets import Reached
from datasource.options import ReadOptions
from datasource.read_plan import DataLossError
from datasource.stream_reader import KraftStreamReader
from raft.client import Client, LogPosition
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


def place(offset: int, epoch: int, checksum: int | None = None) -> LogPosition:
    return LogPosition(offset=Offset(offset), epoch=Epoch(epoch), checksum=checksum)


def reached(offset: int, epoch: int, checksum: int | None = None, *, cluster_id: str = CLUSTER_ID) -> Reached:
    return Reached(cluster_id=cluster_id, point=place(offset, epoch, checksum))


def quick(*, fail_on_data_loss: bool = True) -> ReadOptions:
    """Options of a read that checks an end before the checkpoint once more, and then accepts it."""
    return options(fail_on_data_loss=fail_on_data_loss, api_timeout_ms=1)


def next_start(epochs: Sequence[int], at: Reached, read: ReadOptions, *, start: int = 0) -> tuple[int, int]:
    """Continue in a log of these epochs; return offset and epoch of the start, whether or not the leader plans."""
    older, newer = (
        next_batch(LogClient(Log(epochs=epochs, start=start, checksums=checksums)), read, at, BatchLimits()).start
        for checksums in ((), epochs)
    )
    assert (older.offset, older.epoch) == (newer.offset, newer.epoch)
    return older.offset, older.epoch


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
    pytest.param([1, 1, 5, 5], 0, reached(3, 3), "they differ at offset 2 of epoch 1", (2, 1), id="epoch never was"),
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
        next_start(epochs, at, quick(), start=start)

    assert message in str(refusal.value)
    assert "set failOnDataLoss to false" in str(refusal.value)


@pytest.mark.parametrize(("epochs", "start", "at", "message", "goes_on_at"), LOST)
def test_batch_continues_with_a_warning_when_data_may_be_lost(
    epochs: list[int],
    start: int,
    at: Reached,
    message: str,
    goes_on_at: tuple[int, int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        point = next_start(epochs, at, quick(fail_on_data_loss=False), start=start)

    assert point == goes_on_at
    assert [message in record.getMessage() for record in caplog.records] == [True] * 2


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_batch_of_another_cluster_is_refused_whatever_the_option_says(fail_on_data_loss: bool) -> None:
    with pytest.raises(ConfigError, match=f"has cluster id {CLUSTER_ID}, expected other as in the checkpoint"):
        next_start([1, 1], reached(1, 1, cluster_id="other"), options(fail_on_data_loss=fail_on_data_loss))


SNAPSHOTS = [
    OffsetAndEpoch(offset=Offset(6), epoch=Epoch(3)),
    OffsetAndEpoch(offset=Offset(8), epoch=Epoch(5)),
]
BATCHES = [a_batch(0, epoch=1), a_batch(2, epoch=1), a_batch(4, epoch=3), a_batch(6, epoch=5), a_batch(8, epoch=5)]


def next_start_of_kafkas(at: Reached, read: ReadOptions, *, starts_at_snapshot: bool) -> tuple[int, int]:
    batches = BATCHES[3:] if starts_at_snapshot else BATCHES
    client = ControllerClient(Controller(batches, snapshots=SNAPSHOTS, starts_at_snapshot=starts_at_snapshot))
    point = next_batch(client, read, at, BatchLimits()).start
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
        pytest.param(6, 4, False, "they differ at offset 6 of epoch 3", (6, 3), id="epoch never was"),
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
    """Gets responses of a replaced leader that does not know it yet, so many times; then those of the present one."""

    def __init__(self, deposed: Log, log: Log, *, times: int) -> None:
        super().__init__(deposed)
        self._leading = log
        self._times_left = times

    def last_stable_offset(self) -> Offset:
        if self._times_left == 0:
            self._log = self._leading
            self.start_over(epoch=self._leading.view.last_epoch)
        self._times_left -= 1
        return super().last_stable_offset()


@pytest.mark.kafka_suite(45)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_stream_continues_when_a_replaced_leader_responds_before_the_present_one(
    monkeypatch: pytest.MonkeyPatch, fail_on_data_loss: bool
) -> None:
    client = LateClient(Log(epochs=[4] * 90), Log(epochs=[4] * 100 + [5] * 10), times=3)
    monkeypatch.setattr("datasource.stream_reader.new_client", lambda settings: client)
    reader = KraftStreamReader(options(fail_on_data_loss=fail_on_data_loss))

    planned = reader.latestOffset(reached(100, 4).to_json(), ReadAllAvailable())

    assert planned == reached(110, 5).to_json()


class Ends(LogClient):
    """Counts the requests for the end of the log."""

    asked = 0

    def last_stable_offset(self) -> Offset:
        self.asked += 1
        return super().last_stable_offset()


@pytest.mark.kafka_suite(45)
def test_end_before_the_checkpoint_is_accepted_after_the_time_of_a_call() -> None:
    client = Ends(Log(epochs=[4] * 90))

    with pytest.raises(DataLossError, match="the log ends at 90, before the checkpoint's offset 100"):
        next_batch(client, options(api_timeout_ms=120), reached(100, 4), BatchLimits())

    assert client.asked > 1


def test_end_before_the_checkpoint_is_accepted_at_once_of_another_cluster() -> None:
    client = Ends(Log(epochs=[4] * 90))

    with pytest.raises(ConfigError, match="expected other as in the checkpoint"):
        next_batch(client, options(), reached(100, 4, cluster_id="other"), BatchLimits())

    assert client.asked == 1


OLD = [11, 12, 12, 13, 14, 15]
"""Checksum of each record's batch in the log that was; the third record shares the batch of the second."""


@pytest.mark.rule("CLIENT-15")
def test_longer_log_of_the_same_epoch_is_known_by_the_checksum_of_the_batch_before() -> None:
    client = LogClient(Log(epochs=[1] * 9, checksums=[11, 22, 22, 23, 24, 25, 26, 27, 28]))

    with pytest.raises(DataLossError) as refusal:
        next_batch(client, options(), reached(4, 1, 13), BatchLimits())

    assert "the record batch before offset 4 has checksum 23, expected 13" in str(refusal.value)
    assert "set failOnDataLoss to false" in str(refusal.value)


def test_log_of_other_checksums_is_read_on_from_the_checkpoint_when_data_may_be_lost(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = LogClient(Log(epochs=[1] * 6, checksums=[11, 22, 22, 23, 24, 25]))

    with caplog.at_level(logging.WARNING):
        batch = next_batch(client, options(fail_on_data_loss=False), reached(4, 1, 13), BatchLimits())

    assert batch == MicroBatch(start=place(4, 1, 23), end=place(6, 1, 25), log_end=Offset(6))
    assert "has checksum 23, expected 13" in caplog.text


@pytest.mark.parametrize(
    ("at", "checksums"),
    [
        pytest.param(reached(3, 1, 12), OLD, id="the same"),
        pytest.param(reached(3, 1), OLD, id="unknown in the checkpoint"),
        pytest.param(reached(3, 1, 12), (), id="unknown to the leader"),
        pytest.param(reached(0, 0), OLD, id="at the very start"),
    ],
)
def test_batch_continues_when_no_checksum_differs(at: Reached, checksums: Sequence[int]) -> None:
    client = LogClient(Log(epochs=[1] * 6, checksums=checksums))

    batch = next_batch(client, options(), at, BatchLimits())

    assert (batch.start, batch.end.offset, batch.end.epoch) == (at.point, 6, 1)


@pytest.mark.rule("READ-7")
@pytest.mark.parametrize(
    "at",
    [
        pytest.param(reached(4, 1, 99), id="in the compacted records"),
        pytest.param(reached(1, 1, 99), id="before the first of them"),
        pytest.param(reached(6, 2, 99), id="at their end"),
        pytest.param(reached(5, 2), id="planned in them"),
    ],
)
def test_batch_continues_where_the_batch_before_its_offset_was_compacted_away(at: Reached) -> None:
    log = Log(epochs=[1, 1, 1, 1, 2, 2, 2, 2], start=6, is_compacted=True, checksums=range(8))

    batch = next_batch(LogClient(log), options(), at, BatchLimits())

    assert (batch.start, batch.end) == (at.point, place(8, 2, 7))


@pytest.mark.rule("READ-7")
def test_compacted_log_of_other_epochs_is_not_the_one_of_the_checkpoint() -> None:
    client = LogClient(Log(epochs=[1, 1, 2, 2, 2, 2], start=4, is_compacted=True, checksums=range(6)))

    with pytest.raises(DataLossError, match="the record before offset 2 has epoch 1, expected 2; was the log replaced"):
        next_batch(client, options(), reached(2, 2, 99), BatchLimits())
    goes_on = next_batch(client, options(fail_on_data_loss=False), reached(2, 2, 99), BatchLimits())

    assert goes_on.start == place(2, 1)


def test_epoch_of_a_checkpoint_without_a_checksum_may_be_a_later_one() -> None:
    # A controller of Apache Kafka named the epoch of its snapshot.
    client = LogClient(Log(epochs=[1, 1, 2, 2, 2, 2], start=4, is_compacted=True, checksums=range(6)))

    assert next_batch(client, options(), reached(2, 2), BatchLimits()).start == place(2, 2)


def test_message_of_aged_out_records_is_the_one_of_the_kafka_source() -> None:
    client = LogClient(Log(epochs=[1] * 9, start=6, checksums=range(9)))

    with pytest.raises(
        DataLossError, match=r"offsets 4 to 6 are gone.* Some data may have been lost because it was aged out by the"
    ):
        next_batch(client, options(), reached(4, 1, 3), BatchLimits())


def test_one_request_plans_a_batch() -> None:
    client = LogClient(Log(epochs=[1, 1, 2, 2, 3], checksums=OLD[:5]))

    batch = next_batch(client, options(), reached(1, 1, 11), BatchLimits())

    assert batch.end == place(5, 3, 14)
    assert (client.plans, client.questions) == (1, 1), "a plan tells where the epoch ends, too"


@pytest.mark.kafka_suite(16)
@pytest.mark.parametrize("fail_on_data_loss", [True, False])
@pytest.mark.parametrize("checksums", [(), OLD], ids=["controller of Kafka", "node"])
def test_available_now_fails_when_the_log_has_become_shorter_than_it_was_at_its_start(
    monkeypatch: pytest.MonkeyPatch, fail_on_data_loss: bool, checksums: Sequence[int]
) -> None:
    clients: list[Client] = [LogClient(Log(epochs=[1] * 9)), LogClient(Log(epochs=[1] * 6, checksums=checksums))]
    monkeypatch.setattr("datasource.stream_reader.new_client", lambda settings: clients.pop(0))
    reader = KraftStreamReader(options(fail_on_data_loss=fail_on_data_loss))
    reader.prepareForTriggerAvailableNow()
    reader._own_client = None  # As if the log had become shorter: the next request goes to the other leader.

    with pytest.raises(DataLossError, match="the log ends at 6, but it ended at 9 when this query") as refusal:
        reader.latestOffset(reached(3, 1).to_json(), ReadAllAvailable())

    assert "failOnDataLoss" not in str(refusal.value)


@pytest.mark.parametrize(
    ("checksums", "counts_control_records", "ends"),
    [
        pytest.param(range(1, 15), False, [5, 9, 14], id="a node tells control records apart"),
        pytest.param(range(1, 15), True, [4, 8, 12, 14], id="control records are rows"),
        pytest.param((), False, [4, 8, 12, 14], id="a controller of Kafka does not tell"),
    ],
)
def test_batches_hold_as_many_rows_as_they_may(
    checksums: Sequence[int], counts_control_records: bool, ends: list[int]
) -> None:
    client = LogClient(Log(epochs=[1] * 14, checksums=checksums, control=frozenset([0, 13])))
    limits = BatchLimits(max_rows=4, counts_control_records=counts_control_records)
    at = reached(0, 0)
    found: list[int] = []

    while not found or found[-1] < 14:
        batch = next_batch(client, options(), at, limits)
        found.append(int(batch.end.offset))
        at = Reached(cluster_id=CLUSTER_ID, point=batch.end)

    assert found == ends


def test_batch_ends_at_the_target_of_available_now() -> None:
    client = LogClient(Log(epochs=[1] * 9, checksums=[*range(1, 10)]))

    batch = next_batch(client, options(), reached(2, 1, 2), BatchLimits(max_rows=4, target=Offset(5)))
    nothing = next_batch(client, options(), reached(5, 1, 5), BatchLimits(max_rows=4, target=Offset(5)))

    assert (batch.end, nothing.end) == (place(5, 1, 5), place(5, 1, 5))
