"""Bugs of the engine: in what order it carries out effects, whom it responds to, and when it wakes up."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import pytest

from raft.core.effects import Disconnect, Effect, SendResponse, StoreElectionState
from raft.core.events import TimePassed
from raft.records.control import leader_change_batch
from raft.runtime import engine
from raft.runtime.engine import Engine
from raft.types import Epoch
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("STATE-5", "ROLE-10"), caught_by=("StoredBeforeSent", "RoleIsStored"))
def engine_does_not_wait_for_a_stored_election_state(patch: pytest.MonkeyPatch) -> None:
    """What follows a stored election state is carried out while the disk is still at work."""
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
    ),
)
def response_to_another_request(patch: pytest.MonkeyPatch) -> None:
    """When two requests wait, the one that came first gets the response to the other one."""

    def respond_to_the_first(self: Engine, order: SendResponse) -> None:
        if order.request_id in self._waiting:
            first = min(self._waiting)
            self._waiting.pop(first)(replace(order, request_id=first))

    patch.setattr(Engine, "_respond", respond_to_the_first)


@mutation(breaks=("FETCH-12",), caught_by=("EngineAndCoreHoldSameRequests",))
def abandoned_request_stays_in_the_core(patch: pytest.MonkeyPatch) -> None:
    """The core is not told that the sender of a request is gone."""

    def forget_quietly(self: Engine, request_id: int) -> None:
        self._waiting.pop(request_id, None)

    patch.setattr(Engine, "abandon", forget_quietly)


@mutation(breaks=("FETCH-12",), caught_by=("EngineAndCoreHoldSameRequests",))
def all_requests_forgotten_with_the_abandoned_one(patch: pytest.MonkeyPatch) -> None:
    """When the sender of one request is gone, nobody gets a response any more who waits."""
    abandon = Engine.abandon

    def abandon_all(self: Engine, request_id: int) -> None:
        abandon(self, request_id)
        self._waiting.clear()

    patch.setattr(Engine, "abandon", abandon_all)


@mutation(
    breaks=("TIMER-1",),
    caught_by=("QuorumRecovers", "HighWatermarkIsSentInTime", "LeaderWithoutMajorityResigns", "LeadershipIsStable"),
)
def timer_not_set_again_for_an_earlier_deadline(patch: pytest.MonkeyPatch) -> None:
    """The engine wakes up at the deadline that it knew first, though another one comes earlier now."""
    set_timer = Engine._set_timer

    def set_first_timer(self: Engine) -> None:
        if self._timer is None:
            set_timer(self)

    patch.setattr(Engine, "_set_timer", set_first_timer)


@mutation(
    breaks=("TIMER-1",),
    caught_by=("QuorumRecovers", "HighWatermarkIsSentInTime", "LeaderWithoutMajorityResigns", "LeadershipIsStable"),
)
def timer_rings_once(patch: pytest.MonkeyPatch) -> None:
    """A timer that went off before its deadline, which had moved, is not set again."""

    def on_timer(self: Engine) -> None:
        deadline_ms = self.core.deadline_ms
        if deadline_ms is not None and deadline_ms <= self._scheduler.now_ms():
            self._timer = None
            self.submit(TimePassed())

    patch.setattr(Engine, "_on_timer", on_timer)


@mutation(breaks=("GEN-8",), caught_by=("QuorumRecovers", "HighWatermarkIsSentInTime"))
def connections_are_not_closed(patch: pytest.MonkeyPatch) -> None:
    """The core asks for new connections to a node that does not respond, and keeps the old ones."""
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
    ),
)
def leader_change_record_of_the_epoch_before(patch: pytest.MonkeyPatch) -> None:
    """The record that opens an epoch is written with the epoch before it."""
    patch.setattr(
        engine,
        "leader_change_batch",
        lambda **fields: leader_change_batch(**{**fields, "epoch": Epoch(max(cast("int", fields["epoch"]) - 1, 0))}),
    )


@mutation(breaks=("LOG-21",), caught_by=("QuorumRecovers", "NoUnexpectedErrors", "CommittedIsDurable"))
def flush_reported_with_the_number_of_the_one_before(patch: pytest.MonkeyPatch) -> None:
    """The core is told that the flush before the one that was done is done."""
    flushed = Engine._flushed
    patch.setattr(
        Engine, "_flushed", lambda self, order: flushed(self, replace(order, number=max(order.number - 1, 0)))
    )


@mutation(breaks=("CLIENT-8",), caught_by=("QuorumRecovers", "EngineAndCoreHoldSameRequests"))
def second_of_two_events_is_dropped(patch: pytest.MonkeyPatch) -> None:
    """Of the events that come while an election state is stored, only the first one reaches the core."""
    stored = Engine._stored

    def stored_and_forgotten(self: Engine, done: None) -> None:
        while len(self._events) > 1:
            self._events.pop()
        stored(self, done)

    patch.setattr(Engine, "_stored", stored_and_forgotten)
