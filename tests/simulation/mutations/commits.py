"""Bugs of commitment: the high watermark, and the responses that depend on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from raft.core import RaftCore, appends, commits, fetch_responses, fetches
from raft.core.appends import on_appends
from raft.core.commits import commit, maybe_advance_high_watermark, next_high_watermark
from raft.core.effects import Effect, SendRequest, SendResponse
from raft.core.events import AppendRequested, Event
from raft.core.fetches import wake_fetches
from raft.core.roles import Leader
from raft.core.state import State
from raft.errors import ErrorCode
from raft.types import Offset
from tests.simulation.mutations.mutation import mutation

_NEVER = Offset(-1)


@mutation(breaks=("HW-2", "SCENARIO-27"), caught_by=("CommitNeedsRecordOfOwnEpoch",))
def high_watermark_moved_by_records_of_an_older_epoch(patch: pytest.MonkeyPatch) -> None:
    """A leader commits what is on a majority, even if no record of its own epoch is."""

    def of_any_epoch(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        return next_high_watermark(durable_offsets, epoch_start_offset=_NEVER, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", of_any_epoch)


@mutation(breaks=("HW-2",), caught_by=("CommitNeedsRecordOfOwnEpoch",))
def high_watermark_moved_to_the_epoch_start_offset(patch: pytest.MonkeyPatch) -> None:
    """A leader commits the records of older epochs without the first one of its own: >= in place of >."""

    def from_epoch_start(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        start = Offset(epoch_start_offset - 1)
        return next_high_watermark(durable_offsets, epoch_start_offset=start, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", from_epoch_start)


@mutation(breaks=("HW-1",), caught_by=("CommittedIsDurable",))
def commit_needs_one_voter_less(patch: pytest.MonkeyPatch) -> None:
    """One voter less than a majority is enough to commit."""

    def of_a_minority(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        offsets = sorted(-1 if offset is None else offset for offset in durable_offsets)
        raised = [Offset(offset) for offset in (*offsets[1:], offsets[-1])]
        return next_high_watermark(raised, epoch_start_offset=epoch_start_offset, high_watermark=high_watermark)

    patch.setattr(commits, "next_high_watermark", of_a_minority)


@mutation(breaks=("HW-3", "FETCH-8"), caught_by=("HighWatermarkNeverFalls",))
def high_watermark_lowered_by_a_late_fetch(patch: pytest.MonkeyPatch) -> None:
    """A late fetch has a lower offset than the voter has now, and lowers the high watermark."""

    def as_computed(
        durable_offsets: Iterable[Offset | None], *, epoch_start_offset: Offset, high_watermark: Offset | None
    ) -> Offset | None:
        computed = next_high_watermark(durable_offsets, epoch_start_offset=epoch_start_offset, high_watermark=None)
        return high_watermark if computed is None else computed

    patch.setattr(commits, "next_high_watermark", as_computed)


@mutation(breaks=("HW-7", "LOG-6"), caught_by=("CommittedIsDurable",))
def leader_counts_its_unflushed_records(patch: pytest.MonkeyPatch) -> None:
    """A leader counts itself with its log end offset, although the end is not flushed."""

    def advance(state: State) -> bool:
        durable_end, state.flushes.durable_end = state.flushes.durable_end, state.log.end_offset
        try:
            return maybe_advance_high_watermark(state)
        finally:
            state.flushes.durable_end = durable_end

    patch.setattr(fetches, "maybe_advance_high_watermark", advance)


@mutation(breaks=("HW-7",), caught_by=("CommittedIsDurable",))
def sole_voter_commits_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    """A quorum of one voter commits what it appends before it is flushed."""
    append = appends.on_appends

    def append_and_commit(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        append(state, events, now_ms)
        if isinstance(state.role, Leader) and state.config.is_only_voter and state.high_watermark is not None:
            commit(state, state.log.end_offset)

    patch.setattr("raft.core.machine.on_appends", append_and_commit)


@mutation(breaks=("HW-6", "CLIENT-6"), caught_by=("AppendResponsesAreCorrect",))
def append_acknowledged_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    """A leader acknowledges an append as soon as it is in its own log."""

    def append_and_respond(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
        on_appends(state, events, now_ms)
        for event in events:
            waiting = state.appends.take(event.request_id)
            if waiting is not None:
                state.respond_to_append(event.request_id, waiting.error, waiting.base_offset)

    patch.setattr("raft.core.machine.on_appends", append_and_respond)


@mutation(breaks=("FETCH-9", "TEST-12"), caught_by=("CommittedIsDurable",))
def observers_count_for_the_majority(patch: pytest.MonkeyPatch) -> None:
    """A majority of all replicas commits, observers included."""

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

    patch.setattr(fetches, "maybe_advance_high_watermark", advance)


@mutation(breaks=("HW-5",), caught_by=("CommittedNeverChanges",))
def follower_high_watermark_above_its_log_end(patch: pytest.MonkeyPatch) -> None:
    """A follower adopts its leader's high watermark even above its own log end offset."""

    def learn(state: State, leaders: Offset | None, now_ms: int) -> None:
        if leaders is not None and leaders != state.high_watermark:
            commit(state, leaders)
            wake_fetches(state, now_ms, high_watermark_moved=True)

    patch.setattr(fetch_responses, "_learn_high_watermark", learn)


@mutation(breaks=("CLIENT-8",), caught_by=("AppendResponsesAreCorrect",))
def repeated_append_acknowledged_before_it_is_committed(patch: pytest.MonkeyPatch) -> None:
    """An append that is in the log already is acknowledged, though that batch may still be truncated."""

    def append_or_respond(state: State, events: Sequence[AppendRequested], now_ms: int) -> None:
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

    patch.setattr("raft.core.machine.on_appends", append_or_respond)


@mutation(breaks=("STATE-5", "VOTE-20"), caught_by=("StoredBeforeSent",))
def messages_sent_before_state_is_stored(patch: pytest.MonkeyPatch) -> None:
    """The effects that send messages are moved before those that write to the disk."""
    handle = RaftCore.handle

    def send_first(core: RaftCore, event: Event, now_ms: int) -> list[Effect]:
        return sorted(
            handle(core, event, now_ms), key=lambda effect: not isinstance(effect, SendRequest | SendResponse)
        )

    patch.setattr(RaftCore, "handle", send_first)


@mutation(breaks=("LOG-21",), caught_by=("CheckpointIsCommitted",))
def durable_end_checkpointed_as_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """The checkpointed high watermark is the durable end of the log, committed or not."""
    patch.setattr(RaftCore, "durable_high_watermark", property(lambda core: core.durable_end))


@mutation(breaks=("LOG-21",), caught_by=("CheckpointIsCommitted",))
def high_watermark_checkpointed_above_the_durable_end(patch: pytest.MonkeyPatch) -> None:
    """The checkpointed high watermark is the committed offset, although a truncation or a flush is not done yet."""
    patch.setattr(RaftCore, "durable_high_watermark", property(lambda core: core._state.known_committed))
