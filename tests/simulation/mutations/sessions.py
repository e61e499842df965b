"""Bugs of this project's client: whom it believes, and what it sends again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.client import calls
from raft.client.driver import Driver
from raft.client.results import Appended, Fetched
from raft.client.session import Deadline, Session
from raft.client.steps import Operation
from raft.errors import QuorumUnavailableError
from raft.records.batch import build_batch, read_records
from raft.records.header import read_header
from raft.types import Endpoint, Epoch, Offset
from tests.simulation.clients.our_client import SimulatedTransport
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("CLIENT-16",), caught_by=("SessionEpochNeverFalls",))
def session_forgets_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A client that looks for another leader forgets the highest epoch that it has seen, and may find an old one."""
    forget_leader = Session._forget_leader

    def forget_epoch_too(session: Session, failure: str, deadline: Deadline, now_ms: int) -> Operation[int]:
        session.epoch = Epoch(0)
        return forget_leader(session, failure, deadline, now_ms)

    patch.setattr(Session, "_forget_leader", forget_epoch_too)


@mutation(breaks=("CLIENT-8",), caught_by=("OnlyRequestedWritesAreCommitted",))
def retry_under_a_new_sequence(patch: pytest.MonkeyPatch) -> None:
    """A call that failed is made again by the client itself, with the next sequence number: the write comes twice."""
    append = calls.append

    def append_anew(session: Session, deadline: Deadline, batch: bytes) -> Operation[Appended]:
        try:
            return (yield from append(session, deadline, batch))
        except QuorumUnavailableError:
            renumbered = _with_next_sequence(batch)
            again = Deadline(started_ms=deadline.started_ms + deadline.timeout_ms, timeout_ms=deadline.timeout_ms)
            return (yield from append(session, again, renumbered))

    patch.setattr(calls, "append", append_anew)


@mutation(breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect", "HistoryIsLinearizable"))
def append_without_a_response_counts_as_done(patch: pytest.MonkeyPatch) -> None:
    """When no response to an append comes in time, the caller is told that it is committed."""
    append = calls.append

    def append_and_hope(session: Session, deadline: Deadline, batch: bytes) -> Operation[Appended]:
        try:
            return (yield from append(session, deadline, batch))
        except QuorumUnavailableError:
            return Appended(base_offset=Offset(0))

    patch.setattr(calls, "append", append_and_hope)


@mutation(breaks=("CLIENT-8",), caught_by=("WriteOutcomesAreCorrect",))
def every_append_counts_as_overtaken(patch: pytest.MonkeyPatch) -> None:
    """The caller is told of every append that a newer one of its writer was there before."""
    append = calls.append

    def append_and_say_so(session: Session, deadline: Deadline, batch: bytes) -> Operation[Appended]:
        return replace((yield from append(session, deadline, batch)), is_superseded=True)

    patch.setattr(calls, "append", append_and_say_so)


@mutation(breaks=("CLIENT-2",), caught_by=("ReadersFollowCommittedLog", "NoUnexpectedErrors"))
def first_batch_of_a_fetch_is_dropped(patch: pytest.MonkeyPatch) -> None:
    """Of several batches that were fetched, the caller does not get the first one."""
    fetch_committed = calls.fetch_committed

    def fetch_less(
        session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
    ) -> Operation[Fetched]:
        fetched = yield from fetch_committed(
            session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms
        )
        first_bytes = read_header(fetched.records).size_bytes if fetched.records else 0
        is_only_one = first_bytes == len(fetched.records)
        return fetched if is_only_one else replace(fetched, records=fetched.records[first_bytes:])

    patch.setattr(calls, "fetch_committed", fetch_less)


@mutation(breaks=("CLIENT-1",), caught_by=("NoUnexpectedErrors",))
def connection_that_was_given_up_is_used_again(patch: pytest.MonkeyPatch) -> None:
    """A client gives a request up, and sends the next one on the same connection."""

    def keep(driver: Driver[SimulatedTransport], endpoint: Endpoint) -> None:
        if endpoint in driver.transports:
            driver.transports[endpoint].close()

    patch.setattr(Driver, "_close", keep)


def _with_next_sequence(batch: bytes) -> bytes:
    """The same records under the next sequence number. The checksum is made anew."""
    header = read_header(batch)
    return build_batch(
        list(read_records(batch)),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence + 1,
    )
