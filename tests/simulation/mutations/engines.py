"""Bugs of the engine: the order of effects, responses and timers."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from raft.core.effects import Disconnect, Effect, SendResponse, StoreElectionState
from raft.core.events import TimePassed
from raft.records.control import leader_change_batch
from raft.runtime import engine
from raft.runtime.disk import Disk
from raft.runtime.engine import Engine
from raft.types import Epoch
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("STATE-5", "ROLE-10"), caught_by=("StoredBeforeSent", "RoleIsStored"))
def engine_does_not_wait_for_the_election_state(patch: pytest.MonkeyPatch) -> None:
    """The effects behind StoreElectionState are carried out before the state is stored."""
    carry_out = Engine.carry_out

    def carry_out_at_once(self: Engine, effect: Effect) -> None:
        carry_out(self, effect)
        if isinstance(effect, StoreElectionState):
            self._is_storing = False

    patch.setattr(Engine, "carry_out", carry_out_at_once)


@mutation(
    breaks=("GEN-7", "CLIENT-6"),
    caught_by=(
        "NoUnexpectedErrors",
        "WriteOutcomesAreCorrect",
        "ReadersFollowCommittedLog",
        "ReadsAreCommitted",
        "NoNodeHalts",
        "AppendResponsesAreCorrect",
    ),
)
def response_sent_to_another_request(patch: pytest.MonkeyPatch) -> None:
    """When several requests wait, the oldest one gets the response to another one."""

    def respond_to_the_first(self: Engine, order: SendResponse) -> None:
        if order.request_id in self._waiting:
            first = min(self._waiting)
            self._waiting.pop(first)(replace(order, request_id=first))

    patch.setattr(Engine, "_respond", respond_to_the_first)


@mutation(breaks=("FETCH-12",), caught_by=("EngineAndCoreHoldSameRequests",))
def abandoned_request_kept_by_the_core(patch: pytest.MonkeyPatch) -> None:
    """The engine does not report to the core that the sender of a request has disconnected."""

    def abandon_in_engine_only(self: Engine, request_id: int) -> None:
        self._waiting.pop(request_id, None)

    patch.setattr(Engine, "abandon", abandon_in_engine_only)


@mutation(breaks=("FETCH-12",), caught_by=("EngineAndCoreHoldSameRequests",))
def all_requests_dropped_with_an_abandoned_one(patch: pytest.MonkeyPatch) -> None:
    """When the sender of one request disconnects, no waiting request gets a response."""
    abandon = Engine.abandon

    def abandon_all(self: Engine, request_id: int) -> None:
        abandon(self, request_id)
        self._waiting.clear()

    patch.setattr(Engine, "abandon", abandon_all)


@mutation(breaks=("TIMER-1",), caught_by=("TimerIsNotLate",))
def timer_not_moved_to_an_earlier_deadline(patch: pytest.MonkeyPatch) -> None:
    """The engine keeps its timer when the core's deadline becomes earlier."""
    set_timer = Engine._set_timer

    def set_first_timer(self: Engine) -> None:
        if self._timer is None:
            set_timer(self)

    patch.setattr(Engine, "_set_timer", set_first_timer)


@mutation(breaks=("TIMER-1",), caught_by=("TimerIsNotLate", "LeadershipIsStable"))
def timer_not_rescheduled(patch: pytest.MonkeyPatch) -> None:
    """A timer that expires before a deadline that has moved is not set again."""

    def on_timer(self: Engine) -> None:
        deadline_ms = self.core.deadline_ms
        if deadline_ms is not None and deadline_ms <= self._scheduler.now_ms():
            self._timer = None
            self.submit(TimePassed())

    patch.setattr(Engine, "_on_timer", on_timer)


@mutation(breaks=("GEN-8",), caught_by=("QuorumRecovers", "HighWatermarkIsSentInTime"))
def disconnect_not_carried_out(patch: pytest.MonkeyPatch) -> None:
    """The engine does not carry out the effect Disconnect, and keeps the old connections."""
    carry_out = Engine.carry_out

    def carry_out_the_rest(self: Engine, effect: Effect) -> None:
        if not isinstance(effect, Disconnect):
            carry_out(self, effect)

    patch.setattr(Engine, "carry_out", carry_out_the_rest)


@mutation(
    breaks=("VOTE-20",),
    caught_by=(
        "LogsMatch",
        "RecoveredLogMatchesWrites",
        "NoUnexpectedErrors",
        "CommittedIsDurable",
        "NodesRestart",
        "QuorumRecovers",
        "ReplicasGetSoundRecords",
    ),
)
def leader_change_record_with_the_previous_epoch(patch: pytest.MonkeyPatch) -> None:
    """The LeaderChange record is written with the previous epoch."""
    patch.setattr(
        engine,
        "leader_change_batch",
        lambda **fields: leader_change_batch(**{**fields, "epoch": Epoch(max(cast("int", fields["epoch"]) - 1, 0))}),
    )


@mutation(breaks=("LOG-21",), caught_by=("QuorumRecovers", "NoUnexpectedErrors", "CommittedIsDurable"))
def flush_reported_with_the_previous_number(patch: pytest.MonkeyPatch) -> None:
    """A finished flush is reported with the number of the flush before it."""
    flushed = Engine._flushed
    patch.setattr(
        Engine, "_flushed", lambda self, order: flushed(self, replace(order, number=max(order.number - 1, 0)))
    )


@mutation(breaks=("CLIENT-8",), caught_by=("QuorumRecovers", "EngineAndCoreHoldSameRequests"))
def second_waiting_event_dropped(patch: pytest.MonkeyPatch) -> None:
    """Of the events that come while an election state is stored, only the first reaches the core."""
    stored = Engine._stored

    def drop_all_but_one(self: Engine, done: None) -> None:
        while len(self._events) > 1:
            self._events.pop()
        stored(self, done)

    patch.setattr(Engine, "_stored", drop_all_but_one)


@mutation(breaks=("LOG-23",), caught_by=("PageCacheIsForReaders",))
def new_leader_not_kept_in_the_page_cache(patch: pytest.MonkeyPatch) -> None:
    """A voter that once followed keeps nothing in the page cache, also when it leads."""
    keep = Disk.keep_in_page_cache

    def never_again(self: Disk, is_kept: bool) -> None:
        if not is_kept:
            keep(self, is_kept)

    patch.setattr(Disk, "keep_in_page_cache", never_again)


@mutation(breaks=("LOG-23",), caught_by=("PageCacheIsForReaders",))
def follower_kept_in_the_page_cache(patch: pytest.MonkeyPatch) -> None:
    """A voter that follows keeps what it has flushed in the page cache."""
    patch.setattr(Disk, "keep_in_page_cache", lambda *_arguments: None)
