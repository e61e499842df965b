"""Counting the votes of a round, against a second, as simple as possible version (rules VOTE-18, VOTE-23)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.core.tally import Tally
from raft.types import NodeId
from tests.core.builder import voter_set
from tests.core.states import tally


@given(st.integers(1, 7), st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=12))
@pytest.mark.rule("VOTE-18", "ROLE-12")
def test_tally_agrees_with_a_simple_count(size: int, answers: list[tuple[int, bool]]) -> None:
    voters = voter_set(range(1, size + 1))
    votes, said = Tally.opened_by(NodeId(1), voters), {1: True}

    for voter, granted in answers:
        if voter <= size:
            votes = votes.with_vote(NodeId(voter), granted=granted)
            said[voter] = granted

    yes, no = list(said.values()).count(True), list(said.values()).count(False)
    assert votes.is_won == (yes > size / 2)
    assert votes.is_lost == (size - no <= size / 2)
    assert votes.unrecorded == {voter for voter in range(1, size + 1) if voter not in said}
    assert not (votes.is_won and votes.is_lost)


@pytest.mark.rule("VOTE-23")
def test_latest_response_of_a_voter_counts() -> None:
    round_ = tally(1)

    refused = round_.with_vote(NodeId(2), granted=False)
    granted = refused.with_vote(NodeId(2), granted=True)

    assert refused == tally(1, refused=[2])
    assert granted == tally(1, 2)
    assert granted.with_vote(NodeId(2), granted=False) == tally(1, refused=[2])
