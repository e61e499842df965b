"""Bugs of what is on the disk, and what is only believed to be."""

from __future__ import annotations

import pytest

from raft.core import requesting
from raft.core.flushes import FlushLedger
from raft.core.requesting import _fetch
from raft.core.roles import Loading
from raft.core.state import State
from raft.types import Endpoint, NodeId, Offset
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("FETCH-25", "FETCH-8"), caught_by=("FetchOffsetIsDurable",))
def follower_fetches_before_it_flushed(patch: pytest.MonkeyPatch) -> None:
    """A follower asks for more as soon as it has written, and so says that what it has is on its disk."""

    def fetch(
        state: State, node_id: NodeId, endpoint: Endpoint, now_ms: int, *, loading: Loading | None = None
    ) -> None:
        durable_end, state.flushes.durable_end = state.flushes.durable_end, state.log.end_offset
        _fetch(state, node_id, endpoint, now_ms, loading=loading)
        state.flushes.durable_end = durable_end

    patch.setattr(requesting, "_fetch", fetch)


@mutation(breaks=("LOG-6", "FETCH-25"), caught_by=("FetchOffsetIsDurable", "CommittedIsDurable"))
def flush_numbers_not_voided_by_a_cut(patch: pytest.MonkeyPatch) -> None:
    """A flush from before a truncation vouches for the records that were written in the place of those cut off."""

    def truncate(ledger: FlushLedger, end_offset: Offset) -> None:
        ledger.durable_end = min(ledger.durable_end, end_offset)

    patch.setattr(FlushLedger, "truncate", truncate)


@mutation(breaks=("LOG-6", "FETCH-25"), caught_by=("FetchOffsetIsDurable", "CommittedIsDurable"))
def durable_end_not_cut(patch: pytest.MonkeyPatch) -> None:
    """After a truncation the node still believes that it has on its disk as much as before."""

    def truncate(ledger: FlushLedger, end_offset: Offset) -> None:
        ledger._first_valid_number = ledger._next_number

    patch.setattr(FlushLedger, "truncate", truncate)
