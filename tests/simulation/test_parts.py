"""The parts of the simulator whose bugs no run would show."""

from __future__ import annotations

from functools import partial

import pytest

from raft.records.batch import build_batch
from raft.records.header import read_header
from raft.records.record import Record
from raft.storage.log import Log
from raft.storage.log_config import LogConfig
from raft.storage.recovery_point import RecoveryPoint
from raft.types import Batch, Epoch, EpochStart, Offset
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.event_loop import EventLoop
from tests.simulation.log_model import LogModel
from tests.simulation.log_on_disk import LogOnDisk
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.marks import Marks
from tests.simulation.message import Message
from tests.simulation.network import Network
from tests.simulation.plan import RELIABLE_NETWORK, ClockPlan
from tests.simulation.timeline import Timeline

_DIRECTORY = "log-0"


def _batch(base_offset: int, *, epoch: int = 1, sequence: int | None = None) -> Batch:
    payload = build_batch(
        [Record(value=b"record %d" % base_offset)],
        base_offset=Offset(base_offset),
        epoch=Epoch(epoch),
        producer_id=None if sequence is None else 5,
        producer_epoch=-1 if sequence is None else 0,
        base_sequence=-1 if sequence is None else sequence,
    )
    return Batch(header=read_header(payload), payload=payload)


def _open(files: LossyDisk) -> Log:
    point = RecoveryPoint(files, f"{_DIRECTORY}/point", topic="log", partition=0)
    return Log.open(files, _DIRECTORY, LogConfig(segment_bytes=200), point)


@pytest.fixture
def files() -> LossyDisk:
    files = LossyDisk()
    files.make_directory(_DIRECTORY)
    return files


@pytest.fixture
def written(files: LossyDisk) -> LogOnDisk:
    return LogOnDisk(files, _DIRECTORY)


def test_timeline_keeps_the_order_of_plans_when_they_are_for_the_same_moment() -> None:
    timeline, done = Timeline(), list[str]()
    timeline.at(5, lambda: done.append("later"))
    timeline.at(3, lambda: done.append("first"))
    timeline.at(3, lambda: done.append("second"))

    timeline.run(4)

    assert done == ["first", "second"]
    assert timeline.now_ms == 4


@pytest.mark.parametrize("drift", [-5, 0, 5])
def test_clock_shows_a_value_from_its_true_time_on(drift: int) -> None:
    timeline = Timeline()
    clock = Clock(timeline, ahead_ms=1234, drift=drift)

    for shown_ms in range(2000, 2400):
        timeline.now_ms = clock.true_ms(shown_ms) - 1
        assert clock.now_ms < shown_ms
        timeline.now_ms += 1
        assert clock.now_ms >= shown_ms


@pytest.mark.rule("TEST-2")
def test_event_loop_keeps_the_order_of_timers_when_its_clock_jumps() -> None:
    """Several timers may be due at the same time. The order of a set would differ from process to process."""
    timeline, dice, done = Timeline(), Dice(1, "loop"), list[int]()
    quiet = ClockPlan(ahead_ms=0, drift=(0, 0), busy_percent=0, busy_ms=(0, 0), request_us=(0, 0))
    loop = EventLoop(timeline, Clock(timeline, ahead_ms=0, drift=0), timer_grain_ms=1, rank=1, plan=quiet, dice=dice)
    for number in range(50):
        loop.at(1_000, partial(done.append, number))

    loop.jump_ahead(1_000)
    timeline.run(10)

    assert done == [*range(50)]


def test_dice_draw_the_same_when_another_stream_draws_more_often() -> None:
    alone = [Dice(1, "network").draw(100) for _ in range(1)]
    network, crashes = Dice(1, "network"), Dice(1, "crashes")
    crashes.draw(100)

    assert [network.draw(100)] == alone


def test_network_carries_nothing_when_a_link_is_cut_in_that_direction() -> None:
    timeline, arrived = Timeline(), list[str]()
    network = Network(RELIABLE_NETWORK, timeline=timeline, dice=Dice(1, "network"), marks=Marks())
    cut = network.cut([(1, 2)])

    network.carry(Message(1, 2), lambda: arrived.append("lost"))
    network.carry(Message(2, 1), lambda: arrived.append("the other way"))
    network.mend(cut)
    network.carry(Message(1, 2), lambda: arrived.append("mended"))
    timeline.run(100)

    assert sorted(arrived) == ["mended", "the other way"]


def test_log_model_differs_from_there_on_when_one_batch_differs() -> None:
    one, other = LogModel(), LogModel()
    for model, epoch in ((one, 1), (other, 2)):
        model.append(_batch(0))
        model.append(_batch(1, epoch=epoch))
        model.append(_batch(2, epoch=2))

    assert one.chain_at(Offset(1)) == other.chain_at(Offset(1)) is not None
    assert one.chain_at(Offset(3)) != other.chain_at(Offset(3))
    assert one.epochs == (
        EpochStart(epoch=Epoch(1), start_offset=Offset(0)),
        EpochStart(epoch=Epoch(2), start_offset=Offset(2)),
    )


def test_log_model_counts_a_write_once_when_the_other_was_truncated() -> None:
    model = LogModel()
    model.append(_batch(0, sequence=7))
    model.append(_batch(1, sequence=7))
    assert model.times_written((5, 0, 7)) == 2

    truncated = model.truncate(Offset(1))

    assert [entry.header.base_offset for entry in truncated] == [1]
    assert model.times_written((5, 0, 7)) == 1
    assert model.end_offset == 1


def test_written_log_finds_nothing_durable_when_nothing_was_flushed(files: LossyDisk, written: LogOnDisk) -> None:
    log = _open(files)

    for offset in range(2):
        written.append(_batch(offset))
        log.append([_batch(offset)])

    assert written.find_durable_end() == 0
    log.flush()
    assert written.find_durable_end() == 2


def test_written_log_finds_rewritten_bytes_not_durable_after_a_truncation(files: LossyDisk, written: LogOnDisk) -> None:
    """The case that flush numbers guard against: the old records were durable, the new ones are not yet."""
    log = _open(files)
    for epoch, batches in ((1, [_batch(0), _batch(1)]), (2, [_batch(1, epoch=2)])):
        if epoch == 2:
            log.flush()
            assert written.find_durable_end() == 2
            written.truncation_begun(Offset(1))
            log.truncate(Offset(1))
            written.truncation_done(Offset(1))
        for batch in batches:
            written.append(batch)
        log.append(batches)

    assert written.find_durable_end() == 1


@pytest.mark.rule("TEST-17")
def test_written_log_refuses_a_recovered_log_when_flushed_records_are_missing(
    files: LossyDisk, written: LogOnDisk
) -> None:
    log = _open(files)
    written.append(_batch(0))
    log.append([_batch(0)])
    log.flush()
    written.find_durable_end()
    files.crash()
    files.lose(f"{_DIRECTORY}/{0:020d}.log")

    with pytest.raises(BrokenInvariantError, match="recovered up to 0, where 1 was durable"):
        written.reopen(_open(files))


def test_written_log_refuses_a_recovered_log_when_its_bytes_differ(files: LossyDisk, written: LogOnDisk) -> None:
    log = _open(files)
    written.append(_batch(0))
    log.append([_batch(0, epoch=2)])
    log.flush()
    files.crash()

    with pytest.raises(BrokenInvariantError, match="the bytes below 1 differ"):
        written.reopen(_open(files))
