"""Quorum arithmetic, against a second version that is as dumb as can be (rules VOTE-18, HW-1..3, GEN-14)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raft.core.quorum import Tally, VoterSet, next_high_watermark
from raft.types import NodeId, Offset, ReplicaKey, Uuid
from tests.core.builder import a_config, voter_set, voter_set_with_directories
from tests.core.states import tally
from tests.core.wording import endpoint

# Votes


@given(st.integers(1, 7), st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=12))
@pytest.mark.rule("VOTE-18", "ROLE-12")
def test_tally_agrees_with_counting_on_ones_fingers(size: int, answers: list[tuple[int, bool]]) -> None:
    voters = voter_set(range(1, size + 1))
    votes, said = Tally.opened_by(NodeId(1), voters), {1: True}

    for voter, granted in answers:
        if voter <= size:
            votes = votes.with_answer(NodeId(voter), granted=granted)
            said[voter] = granted

    yes, no = list(said.values()).count(True), list(said.values()).count(False)
    assert votes.is_won == (yes > size / 2)
    assert votes.is_lost == (size - no <= size / 2)
    assert votes.unanswered == {voter for voter in range(1, size + 1) if voter not in said}
    assert not (votes.is_won and votes.is_lost)


@pytest.mark.rule("VOTE-23")
def test_latest_answer_of_a_voter_counts() -> None:
    round_ = tally(1)

    refused = round_.with_answer(NodeId(2), granted=False)
    granted = refused.with_answer(NodeId(2), granted=True)

    assert refused == tally(1, refused=[2])
    assert granted == tally(1, 2)
    assert granted.with_answer(NodeId(2), granted=False) == tally(1, refused=[2])


# Commitment

offsets = st.lists(st.none() | st.integers(0, 12).map(Offset), min_size=1, max_size=7)


def offset_of_majority(durable: Sequence[Offset | None]) -> int:
    """The largest offset such that more than half of the voters have everything below it; -1 for none."""
    reached = [
        offset
        for offset in range(13)
        if sum(1 for has in durable if has is not None and has >= offset) > len(durable) / 2
    ]
    return max(reached, default=-1)


@given(offsets, st.integers(0, 12).map(Offset), st.none() | st.integers(0, 12).map(Offset))
@pytest.mark.rule("HW-1", "HW-2", "HW-3")
def test_high_watermark_agrees_with_trying_every_offset(
    durable: list[Offset | None], epoch_start_offset: Offset, before: Offset | None
) -> None:
    after = next_high_watermark(durable, epoch_start_offset=epoch_start_offset, high_watermark=before)

    reached = offset_of_majority(durable)
    if reached > epoch_start_offset and (before is None or reached > before):
        assert after == reached
    else:
        assert after == before


@pytest.mark.parametrize(
    ("durable", "before", "after"),
    [
        pytest.param([11], None, 11, marks=pytest.mark.rule("HW-7"), id="one voter: its own disk"),
        pytest.param([11, 10], None, None, id="two voters need both"),
        pytest.param([11, 11, None], None, 11, id="two of three, the third not heard of"),
        pytest.param([11, None, None], None, None, id="one of three"),
        pytest.param([15, 11, 12, 13], None, 12, id="the third of four"),
        pytest.param([10, 10, 10], None, None, marks=pytest.mark.rule("HW-2"), id="exactly the start of the epoch"),
        pytest.param([14, 12, 12], 13, 13, marks=pytest.mark.rule("HW-3"), id="never down"),
    ],
)
@pytest.mark.rule("HW-1")
def test_high_watermark_of_a_leader_whose_epoch_starts_at_10(
    durable: list[int | None], before: int | None, after: int | None
) -> None:
    found = next_high_watermark(
        [None if offset is None else Offset(offset) for offset in durable],
        epoch_start_offset=Offset(10),
        high_watermark=None if before is None else Offset(before),
    )

    assert found == after


# Voters


@pytest.mark.rule("GEN-14")
@pytest.mark.parametrize(
    ("replica", "votes"),
    [
        pytest.param(ReplicaKey(NodeId(2), Uuid("disk-2")), True, id="this disk"),
        pytest.param(ReplicaKey(NodeId(2), Uuid("disk-0")), False, id="another disk"),
        pytest.param(ReplicaKey(NodeId(2)), False, id="no disk"),
        pytest.param(ReplicaKey(NodeId(9), Uuid("disk-2")), False, id="another id"),
    ],
)
def test_voter_with_a_directory_id_is_known_by_both(replica: ReplicaKey, votes: bool) -> None:
    assert voter_set_with_directories().is_voter(replica) is votes


@pytest.mark.rule("GEN-14", "BOOT-8")
@pytest.mark.parametrize("directory", [None, Uuid("disk-2"), Uuid("disk-0")])
def test_voter_without_a_directory_id_is_known_by_its_id_alone(directory: Uuid | None) -> None:
    assert voter_set().is_voter(ReplicaKey(NodeId(2), directory))


def test_static_voters_are_ordered_by_id() -> None:
    voters = VoterSet.static({NodeId(3): endpoint(3), NodeId(1): endpoint(1)})

    assert voters.ids == (1, 3)
    assert voters.others(NodeId(1)) == (3,)
    assert voters.key(NodeId(3)) == ReplicaKey(NodeId(3))
    assert voters.endpoints(NodeId(3)) == (endpoint(3),)
    assert voters.endpoints(NodeId(9)) == ()
    assert len(voters) == 2


@pytest.mark.rule("TIMER-1", "TIMER-4", "TIMER-5")
def test_config_has_the_defaults_of_kafka() -> None:
    config = a_config()

    assert config.election_timeout_ms == 1000
    assert config.fetch_timeout_ms == 2000
    assert config.election_backoff_max_ms == 1000
    assert config.request_timeout_ms == 2000
    assert config.retry_backoff_ms == 20
    assert config.fetch_max_bytes == 1048576
    assert (config.check_quorum_ms, config.begin_interval_ms) == (3000, 1000)


@pytest.mark.rule("GEN-14")
def test_config_counts_only_this_disk_as_a_voter() -> None:
    voters = voter_set_with_directories()

    assert a_config(voters, directory="disk-1").is_voter
    assert not a_config(voters, directory="disk-0").is_voter
    assert not a_config(voters, directory="disk-1").is_only_voter
    assert a_config((1,)).is_only_voter
    assert not a_config((2,)).is_only_voter
