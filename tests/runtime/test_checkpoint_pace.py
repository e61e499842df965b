"""When checkpoints are due: at most once in an interval, and once after the last flush."""

import pytest

from raft.runtime.checkpoint_pace import CheckpointPace


def test_nothing_is_due_before_the_first_flush() -> None:
    assert CheckpointPace(1.0).wait_s(100.0) is None


def test_checkpoints_are_due_at_once_after_the_first_flush() -> None:
    pace = CheckpointPace(1.0)

    pace.flushed()

    assert pace.wait_s(100.0) == 0


@pytest.mark.rule("LOG-18")
def test_checkpoints_wait_for_the_interval_and_become_due_without_another_flush() -> None:
    pace = CheckpointPace(1.0)
    pace.flushed()
    pace.wrote(100.0, is_complete=True)
    pace.flushed()

    assert pace.wait_s(100.25) == 0.75
    assert pace.wait_s(101.0) == 0
    assert pace.wait_s(500.0) == 0


def test_nothing_is_due_while_the_checkpoints_are_complete() -> None:
    pace = CheckpointPace(1.0)
    pace.flushed()
    pace.wrote(100.0, is_complete=True)

    assert pace.wait_s(500.0) is None


def test_incomplete_checkpoints_are_due_again_after_the_interval() -> None:
    pace = CheckpointPace(1.0)
    pace.flushed()
    pace.wrote(100.0, is_complete=False)

    assert pace.wait_s(100.5) == 0.5
    assert pace.wait_s(101.0) == 0
