"""What others may read of a core: how many requests wait, how many writers it knows, whether it votes."""

from __future__ import annotations

from tests.core.builder import a_follower, a_leader
from tests.core.wording import append_of, client_fetch, fetch_request


def test_core_counts_the_requests_that_wait() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    end_offset = node.core.log.end_offset
    assert node.core.waiting == (0, 0, 0)

    node.receives(fetch_request(by=2, epoch=5, offset=end_offset, last_epoch=5), request_id=1)
    node.receives(client_fetch(offset=end_offset), request_id=2)
    assert node.core.waiting == (2, 0, 0)
    node.handle(append_of(request_id=3), now_ms=100)

    assert node.core.waiting == (1, 1, 0), "the replica has its response"


def test_core_counts_the_writers_of_its_log() -> None:
    node = a_leader(epoch=5)
    assert node.core.writers.counts == (0, 0, 0)

    node.handle(append_of(producer=(7, 0, 0)), now_ms=100)

    assert node.core.writers.counts == (1, 0, 0)


def test_core_says_whether_its_node_votes() -> None:
    assert a_follower(of=2, epoch=5).core.is_voter
    assert not a_follower(of=2, epoch=5, voters=(2, 3)).core.is_voter
