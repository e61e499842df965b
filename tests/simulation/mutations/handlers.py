"""Bugs of the request handlers: what a node answers to clients, apart from what its core says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from raft.core.effects import SendResponse
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode
from raft.runtime.requests import offsets, produce
from raft.runtime.requests.batch_plan import plan_batch
from raft.runtime.requests.context import Context
from raft.runtime.requests.fetch import _ClientFetch
from raft.runtime.response_budget import Permit, ResponseBudget
from raft.storage.log import Log
from raft.types import Batch, LeaderAndEpoch, Offset
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest, LogPlace
from tests.simulation.mutations.mutation import mutation

_Give = Callable[[AppendResponse], None]
_Change = Callable[[AppendResponse], AppendResponse]


@mutation(breaks=("CLIENT-2", "FETCH-29"), caught_by=("ReadsAreCommitted", "ReadersFollowCommittedLog"))
def fetch_handler_reads_past_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """The handler of a client's fetch reads up to the end of the log, whatever the core says."""
    on_response = _ClientFetch._on_response

    def read_more(self: _ClientFetch, order: SendResponse) -> None:
        read = order.read
        if read is not None:
            # The object stays the same, so that it is known which reply it belongs to.
            object.__setattr__(read, "end_offset", self._context.engine.core.log.end_offset)
        on_response(self, order)

    patch.setattr(_ClientFetch, "_on_response", read_more)


@mutation(breaks=("CLIENT-2",), caught_by=("QuorumRecovers",))
def bytes_of_an_abandoned_response_are_not_given_back(patch: pytest.MonkeyPatch) -> None:
    """When a client goes away before its records are read, the budget for responses keeps their bytes for ever."""
    patch.setattr(ResponseBudget, "release", _release_what_was_sent)


def _release_what_was_sent(self: ResponseBudget, permit: Permit) -> None:
    if permit.proceed is None and permit.size_bytes and not self._waiting:
        self._taken_bytes -= permit.size_bytes
        permit.size_bytes = 0
        self._proceed_waiting()


@mutation(breaks=("CLIENT-4",), caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect"))
def latest_offset_is_the_end_of_the_log(patch: pytest.MonkeyPatch) -> None:
    """ListOffsets names the end of the leader's log as the latest offset, committed or not."""
    patch.setattr(Context, "high_watermark", property(lambda self: self.engine.core.log.end_offset))


@mutation(breaks=("CLIENT-4",), caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect"))
def new_leader_names_what_it_knows_to_be_committed(patch: pytest.MonkeyPatch) -> None:
    """A leader that has committed nothing yet names an end below that of the leader before it."""
    patch.setattr(
        Context,
        "high_watermark",
        property(lambda self: self.engine.core.high_watermark or Offset(self.engine.core.log.end_offset // 2)),
    )


@mutation(breaks=("CLIENT-5",), caught_by=("FoundOffsetsAreCorrect",))
def time_looked_up_past_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A time is looked up in the whole log of the leader."""
    find = Log.find_offset_by_timestamp
    patch.setattr(Log, "find_offset_by_timestamp", lambda self, timestamp, _end: find(self, timestamp, self.end_offset))


@mutation(breaks=("CLIENT-1",), caught_by=("FoundOffsetsAreCorrect", "BatchPlansAreCorrect", "QuorumRecovers"))
def follower_answers_for_the_leader(patch: pytest.MonkeyPatch) -> None:
    """A node that does not lead answers ListOffsets and OffsetForLeaderEpoch, and may be behind."""
    patch.setattr(Context, "leader_only_error", lambda _self, _epoch: ErrorCode.NONE)


@mutation(breaks=("CLIENT-15",), caught_by=("BatchPlansAreCorrect",))
def batch_planned_past_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    """A planned batch reaches to the end of the leader's log."""

    def plan_more(log: Log, asked: BatchPlanRequest, _high_watermark: Offset) -> BatchPlan:
        return plan_batch(log, asked, log.end_offset)

    patch.setattr(offsets, "plan_batch", plan_more)


@mutation(breaks=("CLIENT-15",), caught_by=("BatchPlansAreCorrect",))
def place_described_by_the_record_behind_it(patch: pytest.MonkeyPatch) -> None:
    """A place in the log is told with the epoch and the checksum of the record after it."""

    def place(log: Log, offset: Offset) -> LogPlace:
        if offset == log.end_offset:
            return LogPlace(offset=offset, epoch=log.start.epoch)
        header = log.header_of(offset)
        return LogPlace(offset=offset, epoch=header.epoch, checksum=header.checksum)

    patch.setattr("raft.runtime.requests.batch_plan._place", place)


@mutation(breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect",))
def append_that_timed_out_is_acknowledged(patch: pytest.MonkeyPatch) -> None:
    """A client whose append was not committed in time is told that it was."""
    _answer_appends(
        patch,
        lambda response: (
            replace(response, error=ErrorCode.NONE, base_offset=response.base_offset or Offset(0))
            if response.error == ErrorCode.REQUEST_TIMED_OUT
            else response
        ),
    )


@mutation(breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect", "HistoryIsLinearizable"))
def append_acknowledged_at_the_offset_behind_it(patch: pytest.MonkeyPatch) -> None:
    """A client is told the offset of the record after its own."""
    _answer_appends(
        patch,
        lambda response: (
            response
            if response.base_offset is None
            else replace(response, base_offset=Offset(response.base_offset + 1))
        ),
    )


@mutation(breaks=("CLIENT-8",), caught_by=("WriteOutcomesAreCorrect",))
def append_acknowledged_before_the_core_has_heard_of_it(patch: pytest.MonkeyPatch) -> None:
    """A client gets its response when its batch has been checked; then the core is asked to append it."""
    append = produce._append

    def append_after_the_response(context: Context, request: object, batch: Batch, give: _Give) -> None:
        leader = LeaderAndEpoch(epoch=context.epoch, leader_id=context.serving_leader)
        give(AppendResponse(base_offset=context.engine.core.log.end_offset, leader=leader))
        append(context, request, batch, lambda _response: None)  # type: ignore[arg-type]

    patch.setattr(produce, "_append", append_after_the_response)


def _answer_appends(patch: pytest.MonkeyPatch, change: _Change) -> None:
    append = produce._append

    def append_and_change(context: Context, request: object, batch: Batch, give: _Give) -> None:
        append(context, request, batch, lambda response: give(change(response)))  # type: ignore[arg-type]

    patch.setattr(produce, "_append", append_and_change)
