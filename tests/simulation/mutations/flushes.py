"""Bugs in the core's knowledge of what is durable."""

from __future__ import annotations

import pytest

from raft.core import outgoing_requests
from raft.core.flushes import FlushLedger
from raft.core.outgoing_requests import _fetch
from raft.core.roles import Loading
from raft.core.state import State
from raft.types import Endpoint, NodeId, Offset
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("FETCH-25", "FETCH-8"), caught_by=("FetchOffsetIsDurable",))
def follower_fetches_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    """A follower fetches as soon as it has appended, and so states that its unflushed records are durable."""

    def fetch(
        state: State, node_id: NodeId, endpoint: Endpoint, now_ms: int, *, loading: Loading | None = None
    ) -> None:
        durable_end, state.flushes.durable_end = state.flushes.durable_end, state.log.end_offset
        _fetch(state, node_id, endpoint, now_ms, loading=loading)
        state.flushes.durable_end = durable_end

    patch.setattr(outgoing_requests, "_fetch", fetch)


@mutation(breaks=("LOG-6", "FETCH-25"), caught_by=("FetchOffsetIsDurable", "CommittedIsDurable"))
def flush_numbers_not_voided_by_truncation(patch: pytest.MonkeyPatch) -> None:
    """A flush from before a truncation counts for the records that replaced the truncated ones."""

    def truncate(ledger: FlushLedger, end_offset: Offset) -> None:
        ledger.durable_end = min(ledger.durable_end, end_offset)

    patch.setattr(FlushLedger, "truncate", truncate)


@mutation(breaks=("LOG-6", "FETCH-25"), caught_by=("FetchOffsetIsDurable", "CommittedIsDurable"))
def durable_end_not_lowered_by_truncation(patch: pytest.MonkeyPatch) -> None:
    """After a truncation the durable end of the log stays where it was."""

    def truncate(ledger: FlushLedger, end_offset: Offset) -> None:
        ledger._first_valid_number = ledger._next_number

    patch.setattr(FlushLedger, "truncate", truncate)
