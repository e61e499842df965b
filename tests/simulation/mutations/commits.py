"""Bugs of commitment: what counts as committed, and who hears of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from raft.core import RaftCore, appending, commits, fetching, following
from raft.core.appending import on_appends
from raft.core.commits import commit, maybe_advance_high_watermark, next_high_watermark
from raft.core.effects import Effect, SendRequest, SendResponse
from raft.core.events import AppendRequested, Event
from raft.core.fetching import wake_fetches
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import Offset
from tests.simulation.mutations.mutation import mutation

_NEVER = Offset(-1)


@mutation(breaks=("HW-2", "SCENARIO-27"), caught_by=("CommitNeedsRecordOfOwnEpoch",))
def high_watermark_on_a_record_of_an_older_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader commits whatever is on a majority, even if nothing of its own epoch is."""

    def any_majority(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        return next_high_watermark(durable_offsets, epoch_start_offset=_NEVER, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", any_majority)


@mutation(breaks=("HW-2",), caught_by=("CommitNeedsRecordOfOwnEpoch",))
def high_watermark_at_the_start_of_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader commits what lies before its epoch, without the record that opens it: >= in place of >."""

    def one_less(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        start = Offset(epoch_start_offset - 1)
        return next_high_watermark(durable_offsets, epoch_start_offset=start, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", one_less)


@mutation(breaks=("HW-1",), caught_by=("CommittedIsDurable",))
def one_voter_less_commits(patch: pytest.MonkeyPatch) -> None:
    """The high watermark is one place too far up in the list of voters: what half of them have is committed."""

    def of_a_minority(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        offsets = sorted(-1 if offset is None else offset for offset in durable_offsets)
        raised = [Offset(offset) for offset in (*offsets[1:], offsets[-1])]
        return next_high_watermark(raised, epoch_start_offset=epoch_start_offset, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", of_a_minority)


@mutation(breaks=("HW-3", "FETCH-8"), caught_by=("HighWatermarkNeverFalls",))
def high_watermark_follows_a_late_fetch_down(patch: pytest.MonkeyPatch) -> None:
    """A fetch that comes late shows less than its voter has by now, and the high watermark goes back."""

    def as_computed(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        computed = next_high_watermark(durable_offsets, epoch_start_offset=epoch_start_offset, high_watermark=None)
        return high_watermark if computed is None else computed

    patch.setattr(commits, "next_high_watermark", as_computed)


@mutation(breaks=("HW-7", "LOG-6"), caught_by=("CommittedIsDurable",))
def leader_counts_what_it_has_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A leader counts itself with the end of its log, as if that were on its disk."""

    def advance(state: State) -> bool:
        durable_end, state.flushes.durable_end = state.flushes.durable_end, state.log.end_offset
        try:
            return maybe_advance_high_watermark(state)
        finally:
            state.flushes.durable_end = durable_end

    patch.setattr(fetching, "maybe_advance_high_watermark", advance)


@mutation(breaks=("HW-7",), caught_by=("CommittedIsDurable",))
def sole_voter_does_not_wait_for_its_disk(patch: pytest.MonkeyPatch) -> None:
    """A quorum of one commits what it appends, before it is flushed."""
    append = appending.on_appends

    def append_and_commit(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        append(state, events, now_ms)
        if isinstance(state.role, Leader) and state.config.is_only_voter and state.high_watermark is not None:
            commit(state, state.log.end_offset)

    patch.setattr("raft.core.machine.on_appends", append_and_commit)


@mutation(breaks=("HW-6", "CLIENT-6"), caught_by=("AppendResponsesAreCorrect",))
def acknowledged_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    """A leader acknowledges an append as soon as it is in its own log."""

    def append_and_answer(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        on_appends(state, events, now_ms)
        for event in events:
            waiting = state.appends.take(event.request_id)
            if waiting is not None:
                state.respond_to_append(event.request_id, waiting.error, waiting.base_offset)

    patch.setattr("raft.core.machine.on_appends", append_and_answer)


@mutation(breaks=("FETCH-9", "TEST-12"), caught_by=("CommittedIsDurable",))
def observers_count(patch: pytest.MonkeyPatch) -> None:
    """What a majority of all replicas has is committed, whether they vote or not."""

    def advance(state: State) -> bool:
        role = state.role
        assert isinstance(role, Leader), "only a leader computes the high watermark"
        replicas = [*role.progress.voters.values(), *role.progress.observers.values()]
        moved_to = next_high_watermark(
            [*(replica.fetch_offset for replica in replicas), state.flushes.durable_end],
            epoch_start_offset=role.epoch_start_offset,
            high_watermark=state.high_watermark,
        )
        if moved_to is None or moved_to == state.high_watermark:
            return False
        commit(state, moved_to)
        return True

    patch.setattr(fetching, "maybe_advance_high_watermark", advance)


@mutation(breaks=("HW-5",), caught_by=("CommittedNeverChanges",))
def follower_commits_what_it_does_not_have(patch: pytest.MonkeyPatch) -> None:
    """A follower takes over its leader's high watermark, however long its own log is."""

    def learn(state: State, leaders: Offset | None, now_ms: int) -> None:
        if leaders is not None and leaders != state.high_watermark:
            commit(state, leaders)
            wake_fetches(state, now_ms, high_watermark_moved=True)

    patch.setattr(following, "_learn_high_watermark", learn)


@mutation(breaks=("CLIENT-8",), caught_by=("AppendResponsesAreCorrect",))
def repeated_append_acknowledged_at_once(patch: pytest.MonkeyPatch) -> None:
    """An append that is in the log already is acknowledged, though what is there may still be cut off."""

    def append_or_answer(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        for event in events:
            end_before = state.log.end_offset
            on_appends(state, (event,), now_ms)
            waiting = state.appends.take(event.request_id)
            if waiting is None:
                continue
            if state.log.end_offset == end_before and waiting.error == ErrorCode.NONE:
                state.respond_to_append(event.request_id, waiting.error, waiting.base_offset)
            else:
                state.appends.add(waiting)

    patch.setattr("raft.core.machine.on_appends", append_or_answer)


@mutation(breaks=("STATE-5", "VOTE-20"), caught_by=("StoredBeforeSent",))
def effects_out_of_order(patch: pytest.MonkeyPatch) -> None:
    """Whatever leaves the node comes first in the list of what to do, and the disk after it."""
    handle = RaftCore.handle

    def handle_in_a_hurry(core: RaftCore, event: Event, now_ms: int) -> list[Effect]:
        return sorted(
            handle(core, event, now_ms), key=lambda effect: not isinstance(effect, SendRequest | SendResponse)
        )

    patch.setattr(RaftCore, "handle", handle_in_a_hurry)


@mutation(breaks=("LOG-21",), caught_by=("CheckpointIsCommitted",))
def high_watermark_checkpointed_ahead_of_the_commit(patch: pytest.MonkeyPatch) -> None:
    """The checkpointed high watermark is what is on the disk, whether it is committed or not."""
    patch.setattr(RaftCore, "durable_high_watermark", property(lambda core: core.durable_end))


@mutation(breaks=("LOG-21",), caught_by=("CheckpointIsCommitted",))
def high_watermark_checkpointed_ahead_of_the_disk(patch: pytest.MonkeyPatch) -> None:
    """The checkpointed high watermark is what is committed, though a cut, or a flush, is still under way here."""
    patch.setattr(RaftCore, "durable_high_watermark", property(lambda core: core._state.known_committed))
