"""What a follower knows of its leader, and whether it is ready."""

from __future__ import annotations

import pytest

from raft.core.events import ResignRequested
from raft.errors import ErrorCode
from raft.metrics.readiness import Readiness, readiness
from raft.types import Epoch
from tests.core.builder import FETCH_TIMEOUT_MS, a_follower, a_leader, an_unattached
from tests.core.wording import LOG_END, batch, begin_request, fetch_response
from tests.metrics.metered import Metered

END = LOG_END[1]


def ready(metered: Metered, *, now_ms: int) -> Readiness:
    return readiness(metered.node.core, metered.meter.contact, fetch_timeout_ms=FETCH_TIMEOUT_MS, now_ms=now_ms)


def following() -> Metered:
    """A follower of node 2, which has said nothing yet."""
    metered = Metered(an_unattached(epoch=4))
    metered.node.receives(begin_request(epoch=5, leader=2), now_ms=0)
    return metered


def test_follower_knows_how_far_it_is_behind() -> None:
    metered = following()

    metered.node.gets(
        fetch_response(epoch=5, leader=2, batches=[batch(END, epoch=5, records=2)], high_watermark=END + 7),
        of=2,
        now_ms=30,
    )

    found = ready(metered, now_ms=50)
    assert (found.reason, found.state, found.leader_id) == (None, "follower", 2)
    assert (found.behind_records, found.behind_ms) == (5, 50)


def test_follower_that_has_all_is_behind_by_the_time_since_it_knew() -> None:
    metered = following()

    metered.node.gets(fetch_response(epoch=5, leader=2, high_watermark=END), of=2, now_ms=30)

    assert (ready(metered, now_ms=50).behind_records, ready(metered, now_ms=50).behind_ms) == (0, 20)


def test_follower_is_not_ready_before_the_first_response() -> None:
    metered = following()

    assert ready(metered, now_ms=10).reason == "leader 2 has not responded to a fetch yet"
    assert "behindRecords" not in ready(metered, now_ms=10).fields()


def test_response_with_an_error_is_no_contact() -> None:
    metered = following()

    metered.node.gets(fetch_response(epoch=5, leader=2, error=ErrorCode.UNKNOWN_SERVER_ERROR), of=2, now_ms=30)

    assert ready(metered, now_ms=31).reason == "leader 2 has not responded to a fetch yet"


def test_follower_without_contact_is_not_ready_after_the_fetch_timeout() -> None:
    metered = following()
    metered.node.gets(fetch_response(epoch=5, leader=2, high_watermark=END), of=2, now_ms=30)

    assert ready(metered, now_ms=30 + FETCH_TIMEOUT_MS).reason is None
    assert ready(metered, now_ms=31 + FETCH_TIMEOUT_MS).reason == "leader 2 has not responded to a fetch for 2001 ms"


def test_follower_of_a_new_leader_forgets_what_it_knew_of_the_old_one() -> None:
    metered = following()
    metered.node.gets(fetch_response(epoch=5, leader=2, high_watermark=END), of=2, now_ms=30)

    metered.node.receives(begin_request(epoch=6, leader=3), now_ms=40)

    assert ready(metered, now_ms=50).reason == "leader 3 has not responded to a fetch yet"
    assert metered.meter.contact.behind_records(metered.node.core.log.end_offset) is None


def test_follower_that_loads_a_snapshot_is_not_ready() -> None:
    metered = following()

    metered.node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 90)), of=2, now_ms=30)

    reason = ready(metered, now_ms=31).reason
    assert reason is not None
    assert reason.startswith("it loads the snapshot at ")


def test_leader_is_ready_when_it_has_committed_a_record_of_its_epoch() -> None:
    new, settled = Metered(a_leader(epoch=5)), Metered(a_leader(epoch=5, high_watermark_known=True))

    assert ready(new, now_ms=1).reason == "it leads, but has not committed a record of its epoch yet"
    assert ready(settled, now_ms=1).fields() == {"ready": True, "node": 1, "state": "leader", "epoch": 5, "leader": 1}


@pytest.mark.parametrize("resigns", [True, False], ids=["resigned", "unattached"])
def test_node_without_a_leader_is_not_ready(resigns: bool) -> None:
    metered = Metered(a_leader(epoch=5) if resigns else an_unattached(epoch=5))
    if resigns:
        metered.node.handle(ResignRequested(epoch=Epoch(5)), now_ms=0)

    found = ready(metered, now_ms=1)

    assert (found.reason, found.state) == ("it knows no leader that it could follow", "unattached")


def test_observer_without_contact_is_not_ready() -> None:
    metered = Metered(a_follower(of=2, epoch=5, voters=(2, 3)))

    assert ready(metered, now_ms=0).state == "observer"
    assert ready(metered, now_ms=0).reason == "leader 2 has not responded to a fetch yet"
