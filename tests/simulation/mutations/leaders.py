"""Bugs of patience: what keeps a leader in its place."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import CoreConfig, fetching, machine, responses
from raft.core.effects import Disconnect, Effect
from raft.core.elections import on_begin_quorum_epoch
from raft.core.fetching import _respond_or_park, wake_fetches
from raft.core.messages import BeginQuorumEpochRequest, FetchRequest, FetchResponse
from raft.core.parking import ParkedFetch
from raft.core.request_manager import InflightRequest, RequestManager
from raft.core.responses import _is_settled_by_epoch_or_error, _PartitionResponse
from raft.core.roles import Follower
from raft.core.state import State
from raft.errors import ErrorCode
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("TIMER-2", "BEGIN-8"), caught_by=("OnlyFetchesResetFetchTimeout",))
def announcement_resets_fetch_timer(patch: pytest.MonkeyPatch) -> None:
    """A follower gives its leader more time for each announcement, even if it answers no fetch."""

    def on_announcement(state: State, request_id: int, request: BeginQuorumEpochRequest, now_ms: int) -> None:
        on_begin_quorum_epoch(state, request_id, request, now_ms)
        _give_more_time(state, now_ms)

    patch.setattr(machine, "on_begin_quorum_epoch", on_announcement)


@mutation(breaks=("TIMER-2",), caught_by=("OnlyFetchesResetFetchTimeout",))
def refused_fetch_resets_fetch_timer(patch: pytest.MonkeyPatch) -> None:
    """A follower takes any answer to a fetch for a sign of life, an error too."""

    def is_settled(state: State, inflight: InflightRequest, response: _PartitionResponse, now_ms: int) -> bool:
        if isinstance(response, FetchResponse) and response.error != ErrorCode.NONE:
            _give_more_time(state, now_ms)
        return _is_settled_by_epoch_or_error(state, inflight, response, now_ms)

    patch.setattr(responses, "_is_settled_by_epoch_or_error", is_settled)


@mutation(breaks=("FETCH-17", "TIMER-4"), caught_by=("LeaderWithoutMajorityResigns",))
def no_check_quorum(patch: pytest.MonkeyPatch) -> None:
    """A leader that nobody fetches from leads on."""
    patch.setattr(CoreConfig, "check_quorum_ms", property(lambda _config: 1 << 40))


@mutation(breaks=("GEN-8",), caught_by=("QuorumRecovers",))
def dead_connection_is_kept(patch: pytest.MonkeyPatch) -> None:
    """A connection on which no answer comes is used for ever."""
    emit = State.emit

    def emit_all_but_disconnect(state: State, effect: Effect) -> None:
        if not isinstance(effect, Disconnect):
            emit(state, effect)

    patch.setattr(State, "emit", emit_all_but_disconnect)


@mutation(breaks=("GEN-8",), caught_by=("TimePasses",))
def back_off_never_ends(patch: pytest.MonkeyPatch) -> None:
    """A deadline that is over stays on the list, so that the node wakes up again and again, and does nothing."""
    patch.setattr(RequestManager, "remove_expired_backoffs", lambda _requests, _now_ms: None)


def _give_more_time(state: State, now_ms: int) -> None:
    if isinstance(state.role, Follower) and state.role.fetch_deadline_ms is not None:
        state.role = replace(state.role, fetch_deadline_ms=now_ms + state.config.fetch_timeout_ms)


@mutation(breaks=("LINGER-1",), caught_by=("HighWatermarkIsSentInTime",))
def answer_lingers_anew_with_each_commit(patch: pytest.MonkeyPatch) -> None:
    """A leader puts off the answer that says only a higher high watermark, as often as that moves."""

    def answer_or_park(
        state: State, fetch: ParkedFetch, request: FetchRequest, now_ms: int, *, high_watermark_moved: bool
    ) -> None:
        if high_watermark_moved and request.fetch_offset >= state.log.end_offset:
            state.parked.add(replace(fetch, deadline_ms=now_ms + state.config.high_watermark_linger_ms))
        else:
            _respond_or_park(state, fetch, request, now_ms, high_watermark_moved=high_watermark_moved)

    patch.setattr(fetching, "_respond_or_park", answer_or_park)


@mutation(breaks=("FETCH-12", "LINGER-1"), caught_by=("HighWatermarkIsSentInTime",))
def parked_fetch_hears_of_no_commit(patch: pytest.MonkeyPatch) -> None:
    """A leader tells a higher high watermark to those only that ask after it has moved."""

    def wake(state: State, now_ms: int, *, high_watermark_moved: bool) -> None:
        if not high_watermark_moved:
            wake_fetches(state, now_ms, high_watermark_moved=False)

    patch.setattr(machine, "wake_fetches", wake)
    patch.setattr(fetching, "wake_fetches", wake)
