"""A node checks its log slowly in the background (rule LOG-26)."""

from __future__ import annotations

import pytest

from raft.errors import ErrorCode
from raft.runtime.scrubber import PIECE_BYTES, Scrubber
from tests.runtime.one_voter import FOLDER, OneVoter

BYTES_PER_SECOND = 4 * PIECE_BYTES
INTERVAL_MS = 60_000


def scrubber_of(node: OneVoter, *, bytes_per_second: int = BYTES_PER_SECOND) -> Scrubber:
    scrubber = Scrubber(node.disk, node.scheduler, bytes_per_second=bytes_per_second, interval_ms=INTERVAL_MS)
    scrubber.start()
    return scrubber


def filled(*, pieces: int) -> OneVoter:
    """Return a node with a committed log of so many pieces, and part of another one."""
    node = OneVoter()
    node.wait(0)
    for _ in range(pieces):
        assert node.append("key", value=bytes(PIECE_BYTES)) == ErrorCode.NONE
    return node


@pytest.mark.rule("LOG-26")
def test_log_is_read_at_the_configured_speed_and_again_after_the_interval() -> None:
    node = filled(pieces=8)
    scrubber = scrubber_of(node)

    checked = []
    for _ in range(3):
        node.wait(500)
        checked.append(scrubber.progress.checked_bytes // PIECE_BYTES)

    assert checked == [3, 5, 7]
    node.wait(1_500)
    assert scrubber.progress.passes == 1
    node.wait(INTERVAL_MS - 10_000)
    assert (scrubber.progress.passes, scrubber.progress.checked_bytes) == (1, 0)
    node.wait(15_000)
    assert scrubber.progress.passes == 2
    assert scrubber.progress.damage == ()


@pytest.mark.rule("LOG-26")
def test_damage_is_in_the_log_once_and_the_node_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    node = filled(pieces=3)
    node.files.flip_bit(f"{FOLDER}/{0:020d}.log", 1000)
    scrubber = scrubber_of(node)

    node.wait(5_000)

    (damage,) = scrubber.progress.damage
    assert "00000000000000000000.log is damaged at byte" in damage
    (record,) = [record for record in caplog.records if "is damaged" in record.message]
    assert record.levelname == "ERROR"
    assert "of batches at offsets 1 to 2" in record.message
    node.wait(2 * INTERVAL_MS)
    assert scrubber.progress.passes > 1
    assert node.append("key") == 0


@pytest.mark.rule("LOG-26")
def test_scrub_can_be_switched_off_and_stopped() -> None:
    node = filled(pieces=8)
    off = scrubber_of(node, bytes_per_second=0)
    stopped = scrubber_of(node)
    node.wait(300)
    stopped.stop()
    at_stop = stopped.progress

    node.wait(10_000)

    assert (off.progress.checked_bytes, off.progress.passes) == (0, 0)
    assert stopped.progress == at_stop
    assert at_stop.checked_bytes > 0
