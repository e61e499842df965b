"""Bugs of the request handlers, outside the core."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import replace

import pytest

from raft.core.effects import ReadRange, SendResponse
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.runtime.requests import offsets, produce
from raft.runtime.requests.batch_plan import plan_batch
from raft.runtime.requests.context import Context
from raft.runtime.requests.fetch import _ClientFetch, _Found
from raft.runtime.response_budget import Permit, ResponseBudget
from raft.storage.log import Log
from raft.types import Batch, LeaderAndEpoch, Offset
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, LogPosition
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation

_Done = Callable[[AppendResponse], None]
_Change = Callable[[AppendResponse], AppendResponse]


@mutation(
    breaks=("CLIENT-2", "FETCH-29"),
    caught_by=(
        "ReadsAreCommitted",
        "ReadersFollowCommittedLog",
        "LastStableOffsetIsCorrect",
        "CompactedReadsAreCommitted",
    ),
)
def fetch_handler_reads_above_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """The handler of a client's fetch reads up to the log end offset instead of the range that the core ordered."""
    on_response = _ClientFetch._on_response

    def read_more(self: _ClientFetch, order: SendResponse) -> None:
        read = order.read
        if read is not None:
            # `WatchedEngine` finds the response of a read by the identity of this object.
            object.__setattr__(read, "end_offset", self._context.engine.core.log.end_offset)
        on_response(self, order)

    patch.setattr(_ClientFetch, "_on_response", read_more)


@mutation(breaks=("READ-8",), caught_by=("MissingRecordsAreReplaced",), needs=needs.compaction)
def fetch_response_does_not_say_that_it_is_compacted(patch: pytest.MonkeyPatch) -> None:
    """A response with records of a snapshot does not name the end of the snapshot."""
    parse = _ClientFetch._parse

    def parse_nothing(self: _ClientFetch, records: bytes, log: Log, read: ReadRange, *, ends_at_damage: bool) -> _Found:
        return parse(self, records, log, read, ends_at_damage=ends_at_damage)._replace(compacted_end=None)

    patch.setattr(_ClientFetch, "_parse", parse_nothing)


@mutation(breaks=("READ-8",), caught_by=("MissingRecordsAreReplaced",))
def fetch_response_names_the_start_of_its_records_as_the_end_of_the_snapshot(patch: pytest.MonkeyPatch) -> None:
    """A response with records of a snapshot names the offset of the first one, and not the end of the snapshot."""
    parse = _ClientFetch._parse

    def parse_start(self: _ClientFetch, records: bytes, log: Log, read: ReadRange, *, ends_at_damage: bool) -> _Found:
        found = parse(self, records, log, read, ends_at_damage=ends_at_damage)
        return found if found.compacted_end is None else found._replace(compacted_end=read.start_offset)

    patch.setattr(_ClientFetch, "_parse", parse_start)


@mutation(breaks=("CLIENT-2",), caught_by=("QuorumRecovers",))
def response_budget_not_released_after_a_disconnect(patch: pytest.MonkeyPatch) -> None:
    """When a client disconnects before its records are read, their bytes stay reserved in the response budget."""
    patch.setattr(ResponseBudget, "release", _release_what_was_sent)


def _release_what_was_sent(self: ResponseBudget, permit: Permit) -> None:
    if permit.proceed is None and permit.size_bytes and not self._waiting:
        self._taken_bytes -= permit.size_bytes
        permit.size_bytes = 0
        self._proceed_waiting()


@mutation(breaks=("CLIENT-4",), caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect"))
def latest_offset_is_the_log_end_offset(patch: pytest.MonkeyPatch) -> None:
    """ListOffsets returns the leader's log end offset as the latest offset, committed or not."""
    patch.setattr(Context, "high_watermark", property(lambda self: self.engine.core.log.end_offset))


@mutation(breaks=("CLIENT-4",), caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect"))
def new_leader_returns_a_lower_latest_offset(patch: pytest.MonkeyPatch) -> None:
    """A leader that has committed nothing yet returns a latest offset below that of the previous leader."""
    patch.setattr(
        Context,
        "high_watermark",
        property(lambda self: self.engine.core.high_watermark or Offset(self.engine.core.log.end_offset // 2)),
    )


@mutation(breaks=("CLIENT-5",), caught_by=("FoundOffsetsAreCorrect",))
def timestamp_found_above_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """ListOffsets searches a timestamp in the whole log of the leader, committed or not."""
    find = Log.find_offset_by_timestamp
    patch.setattr(Log, "find_offset_by_timestamp", lambda self, timestamp, _end: find(self, timestamp, self.end_offset))


@mutation(
    breaks=("CLIENT-1",),
    caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect", "QuorumRecovers", "LatestIsLinearizable"),
)
def follower_serves_requests_for_the_leader(patch: pytest.MonkeyPatch) -> None:
    """A follower, which may lag, serves ListOffsets and OffsetForLeaderEpoch."""
    patch.setattr(Context, "leader_only_error", lambda _self, _epoch: ErrorCode.NONE)


@mutation(breaks=("CLIENT-15",), caught_by=("BatchPlansAreCorrect",))
def batch_planned_above_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A planned batch ends at the leader's log end offset."""

    def plan_more(log: Log, request: BatchPlanRequest, _high_watermark: Offset) -> Generator[None, None, BatchPlan]:
        return plan_batch(log, request, log.end_offset)

    patch.setattr(offsets, "plan_batch", plan_more)


@mutation(breaks=("CLIENT-15",), caught_by=("BatchPlansAreCorrect",))
def plan_describes_the_next_record(patch: pytest.MonkeyPatch) -> None:
    """A plan describes an offset by the epoch and checksum of the record after it instead of the one before it."""

    def place(log: Log, offset: Offset) -> LogPosition:
        if offset == log.end_offset:
            return LogPosition(offset=offset, epoch=log.start.epoch)
        header = log.header_of(offset)
        return LogPosition(offset=offset, epoch=header.epoch, checksum=header.checksum)

    patch.setattr("raft.runtime.requests.batch_plan._place", place)


@mutation(breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect",))
def timed_out_append_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """An append that was not committed in time is acknowledged."""
    _change_append_responses(
        patch,
        lambda response: (
            replace(response, error=ErrorCode.NONE, base_offset=response.base_offset or Offset(0))
            if response.error == ErrorCode.REQUEST_TIMED_OUT
            else response
        ),
    )


@mutation(breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect", "HistoryIsLinearizable"))
def append_acknowledged_with_the_next_offset(patch: pytest.MonkeyPatch) -> None:
    """An append is acknowledged with the offset after its own."""
    _change_append_responses(
        patch,
        lambda response: (
            response
            if response.base_offset is None
            else replace(response, base_offset=Offset(response.base_offset + 1))
        ),
    )


@mutation(breaks=("CLIENT-8",), caught_by=("WriteOutcomesAreCorrect",))
def append_acknowledged_before_it_reaches_the_core(patch: pytest.MonkeyPatch) -> None:
    """An append is acknowledged when its batch has been checked, before the core gets it."""
    append = produce._append

    def append_after_the_response(context: Context, request: object, batch: Batch, done: _Done) -> None:
        leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.serving_leader)
        done(AppendResponse(base_offset=context.engine.core.log.end_offset, leader=leader))
        append(context, request, batch, lambda _response: None)  # type: ignore[arg-type]

    patch.setattr(produce, "_append", append_after_the_response)


def _change_append_responses(patch: pytest.MonkeyPatch, change: _Change) -> None:
    append = produce._append

    def append_and_change(context: Context, request: object, batch: Batch, done: _Done) -> None:
        append(context, request, batch, lambda response: done(change(response)))  # type: ignore[arg-type]

    patch.setattr(produce, "_append", append_and_change)
