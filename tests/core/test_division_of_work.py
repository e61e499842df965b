"""What the leader, the follower and the application each decide (rules GEN-1, DIVERGE-11, HW-12, BOOT-2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import AppendBatches, AppendLeaderChange
from raft.core.events import Started
from raft.errors import ErrorCode
from tests.core.builder import a_config, a_follower, a_leader, a_log, not_started
from tests.core.orders import appends, flushes, replies
from tests.core.states import follower
from tests.core.wording import append_of, batch, fetch_request, fetch_response

UNREADABLE = b"records"
"""What the batches of these tests hold: no record batch at all."""


@pytest.mark.rule("GEN-1", "LOG-9")
def test_leader_appends_records_without_reading_them() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)

    effects = node.handle(append_of(records=3), now_ms=100)

    assert effects == [appends(batch(11, epoch=5, records=3)), flushes(14)]
    assert batch(11, epoch=5).payload == UNREADABLE


@pytest.mark.rule("GEN-1")
def test_follower_appends_records_without_reading_them() -> None:
    node = a_follower(of=2, epoch=5)
    sent = batch(10, epoch=5, records=3)

    effects = node.gets(fetch_response(epoch=5, leader=2, batches=[sent]), of=2)

    assert effects == [appends(sent), flushes(13)]
    assert sent.payload == UNREADABLE


@pytest.mark.rule("DIVERGE-11")
def test_leader_does_not_change_after_a_fetch_of_a_later_epoch() -> None:
    node = a_leader(epoch=5)
    before = node.role

    effects = node.receives(fetch_request(by=2, epoch=6, offset=11, last_epoch=5))

    assert effects == [replies(fetch_response(epoch=5, leader=1, error=ErrorCode.UNKNOWN_LEADER_EPOCH))]
    assert node.role is before


@pytest.mark.rule("DIVERGE-11")
def test_follower_follows_the_next_leader_that_a_fetch_response_names() -> None:
    node = a_follower(of=2, epoch=5)

    node.gets(fetch_response(epoch=6, leader=3, error=ErrorCode.FENCED_LEADER_EPOCH), of=2)

    assert node.role == follower(of=3, epoch=6, until=2100)


@pytest.mark.rule("HW-12")
def test_leader_commits_at_the_fetch_after_the_one_that_took_the_record() -> None:
    node = a_leader(epoch=5, high_watermark_known=True)
    node.handle(append_of(), now_ms=100)
    node.has_flushed(now_ms=110)

    node.receives(fetch_request(by=2, epoch=5, offset=11, last_epoch=5), now_ms=120)
    assert node.high_watermark == 11

    node.receives(fetch_request(by=2, epoch=5, offset=12, last_epoch=5), now_ms=130)
    assert node.high_watermark == 12


@pytest.mark.rule("BOOT-2")
def test_first_leader_creates_no_cluster_id() -> None:
    node = not_started(None, config=replace(a_config((1,)), cluster_id=None), log=a_log((), 0))

    effects = node.handle(Started(), now_ms=0)

    assert node.role_name == "Leader"
    written = [type(effect) for effect in effects if isinstance(effect, AppendBatches | AppendLeaderChange)]
    assert written == [AppendLeaderChange]
