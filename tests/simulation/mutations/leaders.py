"""Bugs of timeouts: fetch timeout, check quorum, connections and parked fetches."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core import CoreConfig, fetches, machine, responses
from raft.core.effects import Disconnect, Effect
from raft.core.elections import on_begin_quorum_epoch
from raft.core.fetches import _respond_or_park, wake_fetches
from raft.core.messages import BeginQuorumEpochRequest, FetchRequest, FetchResponse
from raft.core.request_manager import InflightRequest, RequestManager
from raft.core.responses import _is_settled_by_epoch_or_error, _PartitionResponse
from raft.core.roles import Follower
from raft.core.state import State
from raft.core.waiting_requests import ParkedFetch
from raft.errors import ErrorCode
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("TIMER-2", "BEGIN-8"), caught_by=("OnlyFetchesResetFetchTimeout",))
def begin_quorum_epoch_resets_fetch_timeout(patch: pytest.MonkeyPatch) -> None:
    """A BeginQuorumEpoch request extends the fetch timeout, although the leader responds to no fetch."""

    def on_begin(state: State, request_id: int, request: BeginQuorumEpochRequest, now_ms: int) -> None:
        on_begin_quorum_epoch(state, request_id, request, now_ms)
        _extend_fetch_timeout(state, now_ms)

    patch.setattr(machine, "on_begin_quorum_epoch", on_begin)


@mutation(breaks=("TIMER-2",), caught_by=("OnlyFetchesResetFetchTimeout",))
def fetch_error_resets_fetch_timeout(patch: pytest.MonkeyPatch) -> None:
    """A fetch response with an error extends the fetch timeout."""

    def is_settled(state: State, inflight: InflightRequest, response: _PartitionResponse, now_ms: int) -> bool:
        if isinstance(response, FetchResponse) and response.error != ErrorCode.NONE:
            _extend_fetch_timeout(state, now_ms)
        return _is_settled_by_epoch_or_error(state, inflight, response, now_ms)

    patch.setattr(responses, "_is_settled_by_epoch_or_error", is_settled)


@mutation(breaks=("FETCH-17", "TIMER-4"), caught_by=("LeaderWithoutMajorityResigns",))
def check_quorum_disabled(patch: pytest.MonkeyPatch) -> None:
    """A leader that no voter fetches from does not resign."""
    patch.setattr(CoreConfig, "check_quorum_ms", property(lambda _config: 1 << 40))


@mutation(breaks=("GEN-8",), caught_by=("QuorumRecovers",))
def disconnect_not_emitted(patch: pytest.MonkeyPatch) -> None:
    """The core never orders to close a connection on which no response comes."""
    emit = State.emit

    def emit_all_but_disconnect(state: State, effect: Effect) -> None:
        if not isinstance(effect, Disconnect):
            emit(state, effect)

    patch.setattr(State, "emit", emit_all_but_disconnect)


@mutation(breaks=("GEN-8",), caught_by=("TimePasses",))
def expired_backoff_not_removed(patch: pytest.MonkeyPatch) -> None:
    """An expired back-off is not removed, so the node wakes up again and again and does nothing."""
    patch.setattr(RequestManager, "remove_expired_backoffs", lambda _requests, _now_ms: None)


def _extend_fetch_timeout(state: State, now_ms: int) -> None:
    if isinstance(state.role, Follower) and state.role.fetch_deadline_ms is not None:
        state.role = replace(state.role, fetch_deadline_ms=now_ms + state.config.fetch_timeout_ms)


@mutation(breaks=("LINGER-1",), caught_by=("HighWatermarkIsSentInTime",))
def linger_restarts_with_each_commit(patch: pytest.MonkeyPatch) -> None:
    """Each move of the high watermark restarts the linger time of a response that carries only a high watermark."""

    def restart_linger(
        state: State, fetch: ParkedFetch, request: FetchRequest, now_ms: int, *, high_watermark_moved: bool
    ) -> None:
        if high_watermark_moved and request.fetch_offset >= state.log.end_offset:
            state.parked.add(replace(fetch, deadline_ms=now_ms + state.config.high_watermark_linger_ms))
        else:
            _respond_or_park(state, fetch, request, now_ms, high_watermark_moved=high_watermark_moved)

    patch.setattr(fetches, "_respond_or_park", restart_linger)


@mutation(breaks=("FETCH-12", "LINGER-1"), caught_by=("HighWatermarkIsSentInTime",))
def parked_fetch_not_completed_by_a_commit(patch: pytest.MonkeyPatch) -> None:
    """A parked fetch gets no response when the high watermark moves; only later fetches see it."""

    def wake(state: State, now_ms: int, *, high_watermark_moved: bool) -> None:
        if not high_watermark_moved:
            wake_fetches(state, now_ms, high_watermark_moved=False)

    patch.setattr(machine, "wake_fetches", wake)
    patch.setattr(fetches, "wake_fetches", wake)
