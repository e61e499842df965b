"""Bugs of this project's client: its session, retries and connections."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from raft.client import calls
from raft.client.driver import Driver
from raft.client.results import Appended, Fetched
from raft.client.session import Deadline, Session
from raft.client.steps import Operation
from raft.errors import QuorumUnavailableError
from raft.records.batch import build_batch, read_records
from raft.records.header import read_header
from raft.records.header_fields import attributes_of
from raft.types import Endpoint, Epoch, Offset
from tests.simulation.clients.our_client import SimulatedTransport
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("CLIENT-16",), caught_by=("SessionEpochNeverFalls",))
def session_forgets_the_epoch(patch: pytest.MonkeyPatch) -> None:
    """A session that searches for another leader forgets its highest epoch, and may accept a deposed one."""
    forget_leader = Session.forget_leader

    def forget_epoch_too(session: Session, failure: str, deadline: Deadline, now_ms: int) -> Operation[int]:
        session.epoch = Epoch(0)
        return forget_leader(session, failure, deadline, now_ms)

    patch.setattr(Session, "forget_leader", forget_epoch_too)


@mutation(breaks=("CLIENT-8",), caught_by=("OnlyRequestedWritesAreCommitted",))
def retry_with_a_new_sequence(patch: pytest.MonkeyPatch) -> None:
    """The client retries a failed append with the next sequence number, so that the write is appended twice."""
    append = calls.append

    def append_with_retry(session: Session, deadline: Deadline, batch: bytes, **named: Any) -> Operation[Appended]:
        try:
            return (yield from append(session, deadline, batch, **named))
        except QuorumUnavailableError:
            if attributes_of(batch):
                raise  # a part, or the commit of a write in parts
            renumbered = _with_next_sequence(batch)
            again = Deadline(started_ms=deadline.started_ms + deadline.timeout_ms, timeout_ms=deadline.timeout_ms)
            return (yield from append(session, again, renumbered, **named))

    patch.setattr(calls, "append", append_with_retry)


@mutation(
    breaks=("CLIENT-6",), caught_by=("WriteOutcomesAreCorrect", "HistoryIsLinearizable", "MultipartWritesAreWhole")
)
def append_without_a_response_reported_as_committed(patch: pytest.MonkeyPatch) -> None:
    """An append without a response in time is reported as committed."""
    append = calls.append

    def append_or_assume(session: Session, deadline: Deadline, batch: bytes, **named: Any) -> Operation[Appended]:
        try:
            return (yield from append(session, deadline, batch, **named))
        except QuorumUnavailableError:
            return Appended(base_offset=Offset(0))

    patch.setattr(calls, "append", append_or_assume)


@mutation(breaks=("CLIENT-8",), caught_by=("WriteOutcomesAreCorrect",))
def every_append_reported_as_superseded(patch: pytest.MonkeyPatch) -> None:
    """Every append is reported as superseded by a newer one of its writer."""
    append = calls.append

    def append_as_superseded(session: Session, deadline: Deadline, batch: bytes, **named: Any) -> Operation[Appended]:
        return replace((yield from append(session, deadline, batch, **named)), is_superseded=True)

    patch.setattr(calls, "append", append_as_superseded)


@mutation(breaks=("CLIENT-2",), caught_by=("ReadersFollowCommittedLog", "NoUnexpectedErrors", "ReadersSeeTheState"))
def first_fetched_batch_dropped(patch: pytest.MonkeyPatch) -> None:
    """The first of several fetched batches is dropped."""
    fetch_committed = calls.fetch_committed

    def fetch_without_first(
        session: Session, deadline: Deadline, start_offset: Offset, *, max_bytes: int, max_wait_ms: int
    ) -> Operation[Fetched]:
        fetched = yield from fetch_committed(
            session, deadline, start_offset, max_bytes=max_bytes, max_wait_ms=max_wait_ms
        )
        first_bytes = read_header(fetched.records).size_bytes if fetched.records else 0
        is_only_one = first_bytes == len(fetched.records)
        return fetched if is_only_one else replace(fetched, records=fetched.records[first_bytes:])

    patch.setattr(calls, "fetch_committed", fetch_without_first)


@mutation(breaks=("CLIENT-1",), caught_by=("NoUnexpectedErrors",))
def closed_connection_used_again(patch: pytest.MonkeyPatch) -> None:
    """After a request timed out, the client sends the next one on the same connection."""

    def keep(driver: Driver[SimulatedTransport], endpoint: Endpoint) -> None:
        if endpoint in driver.transports:
            driver.transports[endpoint].close()

    patch.setattr(Driver, "_close", keep)


def _with_next_sequence(batch: bytes) -> bytes:
    """Return the same records under the next sequence number, with a new checksum."""
    header = read_header(batch)
    return build_batch(
        list(read_records(batch)),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence + 1,
    )
