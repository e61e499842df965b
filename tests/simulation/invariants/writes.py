"""Invariants of writes: each is in the log at most once, and an acknowledged one is committed."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

from raft.core.effects import SendResponse
from raft.core.events import AppendRequested
from raft.core.messages import AppendResponse
from raft.errors import ErrorCode, error_name
from raft.types import FIRST_KEYED_PRODUCER_ID, Batch, BatchHeader, Offset, WriteCommit
from raft.writers import WriterTable, Written
from raft.writers.keys import version_of
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import CoreRequest, Invariant
from tests.simulation.log_model import Entry, is_same_write, write_id_of
from tests.simulation.machine import Machine
from tests.simulation.step import Step

_CHECK_EVERY = 64
"""A table of writers is compared with its log once in so many appends of all nodes."""

_UNKNOWN_OUTCOME = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.STORAGE_ERROR,  # See `ReserveIsKept`.
)


class WrittenOnce(Invariant):
    """No log holds a write twice, committed or not."""

    rules = ("CLIENT-8", "CLIENT-9")

    def log_appended(self, step: Step) -> None:
        for entry in step.appended:
            write_id = write_id_of(entry.header)
            if write_id is not None:
                times = step.log.times_written(write_id)
                self.require(times == 1, "%s: write %s is %s times in the log", step.machine, write_id, times)


class AppendResponsesAreCorrect(Invariant):
    """The response to an append is correct: an acknowledged one is committed, a refused one is superseded."""

    rules = ("HW-6", "TEST-8", "CLIENT-6", "CLIENT-8", "CLIENT-11", "TXN-11")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed

    def response_sent(self, machine: Machine, request: CoreRequest, order: SendResponse, records: bytes) -> None:
        if not isinstance(request, AppendRequested) or request.batch.header.is_transactional:
            return
        response = order.response
        assert isinstance(response, AppendResponse), "the response to an append"
        header = request.batch.header
        if response.error == ErrorCode.NONE:
            self._check_acknowledged(machine, request.batch, response)
        elif response.error == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            self._check_superseded(machine, header)
        elif response.error == ErrorCode.DUPLICATE_RESOURCE:
            self._check_other_content(machine, request.batch)
        elif response.error == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            is_keyed = header.producer_id is not None and header.producer_id >= FIRST_KEYED_PRODUCER_ID
            self.require(not is_keyed, "%s requires consecutive sequences of a keyed writer: %s", machine, header)
        elif response.error == ErrorCode.INVALID_TXN_STATE:
            is_commit = isinstance(header.control_value, WriteCommit)
            self.require(is_commit, "%s responds INVALID_TXN_STATE to %s", machine, header)
            self._check_refused_parts(machine, header)
        elif response.error not in _UNKNOWN_OUTCOME:
            self.fail(f"{machine} responds {error_name(response.error)} to {header}")

    def _check_refused_parts(self, machine: Machine, header: BatchHeader) -> None:
        commit = header.control_value
        assert isinstance(commit, WriteCommit), "checked before"
        committed = self._committed.history.open
        counts = {producer_id: len(transaction.records) for producer_id, transaction in committed.items()}
        are_whole = all(counts.get(part.producer_id) == part.record_count for part in commit.parts)
        self.require(not are_whole, "%s refuses %s, whose parts are committed, open and whole", machine, header)

    def _check_acknowledged(self, machine: Machine, batch: Batch, response: AppendResponse) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every simulated write has an id"
        entry = self._committed.find(write_id)
        if entry is None:
            self.fail(f"{machine} acknowledges {write_id} at {response.base_offset}, which is not committed")
        base_offset = entry.header.base_offset
        self.require(
            response.base_offset == base_offset,
            "%s acknowledges %s at %s, it is at %s",
            machine,
            write_id,
            response.base_offset,
            base_offset,
        )
        is_same = is_same_write(entry, batch)
        self.require(is_same, "%s acknowledges %s, but other records are committed under its id", machine, write_id)

    def _check_other_content(self, machine: Machine, batch: Batch) -> None:
        write_id = write_id_of(batch.header)
        assert write_id is not None, "every simulated write has an id"
        entry = self._committed.find(write_id)
        if entry is None:
            self.fail(f"{machine} refuses {write_id} as written with other content, but it is not committed")
        is_other = not is_same_write(entry, batch)
        self.require(is_other, "%s refuses %s, but its own records are committed", machine, write_id)

    def _check_superseded(self, machine: Machine, header: BatchHeader) -> None:
        version = version_of(header.producer_epoch, header.base_sequence)
        newest = self._committed.newest_version(header.producer_id or 0)
        is_superseded = newest is not None and newest > version
        self.require(
            is_superseded, "%s refuses version %s as superseded, the newest committed is %s", machine, version, newest
        )


class WriterTableMatchesLog(Invariant):
    """Each node's table of writers equals one that is built from its log. A start can undo what is not committed."""

    rules = ("CLIENT-8", "CLIENT-13", "LOG-22")

    def __init__(self) -> None:
        self._appends = 0

    def node_started(self, machine: Machine) -> None:
        log, table, committed_end = (
            machine.written.model,
            machine.producers.writers,
            machine.core.durable_high_watermark,
        )
        self._compare(machine, table, log.entries)
        undone = deepcopy(table)
        undone.truncated(committed_end)
        self._compare(machine, undone, log.between(Offset(0), committed_end))

    def log_truncated(self, step: Step) -> None:
        self._check(step)

    def log_appended(self, step: Step) -> None:
        self._appends += 1
        if self._appends % _CHECK_EVERY == 0:
            self._check(step)

    def _check(self, step: Step) -> None:
        self._compare(step.machine, step.machine.producers.writers, step.log.entries)

    def _compare(self, machine: Machine, table: WriterTable, entries: Sequence[Entry]) -> None:
        fresh = machine.empty_producer_state().writers
        for entry in entries:
            fresh.appended(entry.header)
        end_offset = entries[-1].header.end_offset if entries else 0
        is_same = content_of_table(table) == content_of_table(fresh)
        self.require(
            is_same, "%s: the table of writers differs from one built from the log up to %s", machine, end_offset
        )


def content_of_table(table: WriterTable) -> object:
    """Return the writers of a table in the order in which they expire. The undo data are left out: a new table holds
    all of them, one in use only those above the high watermark.
    """
    image = table.image(Offset(0))
    return image.log_time_ms, [
        (producer_id, [_remembered(written, image.first_log_time_ms) for written in history])
        for producer_id, history in image.histories.items()
    ]


def _remembered(written: Written, first_log_time_ms: int) -> Written:
    """Return what every node remembers of a write. One that has loaded a snapshot does not know the content of a write,
    nor that the commit of a multipart write has one record.
    """
    log_time_ms = max(written.log_time_ms, first_log_time_ms, 0)
    return replace(written, content_checksum=None, end_offset=written.base_offset, log_time_ms=log_time_ms)
