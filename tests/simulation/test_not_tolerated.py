"""Runs with lost, old and damaged disks, which a quorum of kraft.version 0 does not always tolerate.

They show that a node reports, refuses or repairs such a loss where it can, and which invariants break where it cannot
(SCENARIO-16).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from raft.core.roles import Follower
from raft.errors import ConfigError
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.flushed_mark import FLUSHED_MARK_NAME
from raft.storage.recovery_point import RECOVERY_POINT_NAME
from raft.types import CleanupPolicy, ElectionState, Epoch
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.drawing import draw_plan
from tests.simulation.faultless import follower_of, leader_of, run_a_while
from tests.simulation.faults.kinds import NOT_TOLERATED, Fault
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.machine import Machine
from tests.simulation.marks import Mark
from tests.simulation.plan import NOT_SECURED
from tests.simulation.run import Outcome, carry_out
from tests.simulation.starting import DIRECTORY
from tests.simulation.world import World

_HALTS = Path(__file__).parents[2] / "docs" / "halts.md"

_SEEDS = (*range(14), 48)
"""The last one is decided by a voter that has lost its disk."""

_EXPECTED_FAILURES = {
    # A voter without its disk elects a candidate that lacks records, or leads an epoch again with another log; or its
    # leader counts records that it has lost. The best outcome is that a node notices it and halts.
    Fault.LOST_DISK: {
        "LeadersAreComplete",
        "CommittedIsDurable",
        "OneLeaderPerEpoch",
        "ElectedByMajority",
        "LogsMatch",
        "NoNodeHalts",
        # If it was the only voter.
        "HighWatermarkNeverFalls",
    },
    # The voter becomes candidate for an epoch that it led, or of which its log has records: an invalid request. Or its
    # vote arrives at the candidate when the state with it was replaced.
    Fault.STALE_ELECTION_STATE: {"NoNodeHalts", "NoResponseHaltsPeers", "ElectedByMajority"},
    # If whole batches follow the damage, the node refuses to start.
    Fault.UNNOTICED_ROT: {"LeadersAreComplete", "NodesRestart"},
}


@cache
def _outcome_of(fault: Fault, seed: int) -> Outcome:
    plan = draw_plan(seed)
    # The disk of a machine is changed by hand here, which a log that begins with a snapshot is not made for.
    plan = replace(plan, snapshots=replace(plan.snapshots, policy=CleanupPolicy.NONE), security=NOT_SECURED)
    every_ms = {**plan.faults.every_ms, fault: 2 * plan.timeouts.round_ms}
    return carry_out(replace(plan, faults=replace(plan.faults, every_ms=every_ms)))


@pytest.fixture
def quiet_world(world: World) -> World:
    """The same world when all writes are committed at all nodes, and clients write no more.

    A leader counts the old fetch offset of a voter until its next fetch, so with more writes an invariant could break.
    """
    world.end_faults()
    run_a_while(world)
    return world


def _restart(world: World, victim: Machine, tamper: Callable[[], None]) -> None:
    """Stop a machine, change its disk, and start it again."""
    world.keep_down(frozenset([victim.node_id]))
    tamper()
    world.keep_down(frozenset())


def _restart_and_run(world: World, victim: Machine, tamper: Callable[[], None]) -> None:
    _restart(world, victim, tamper)
    run_a_while(world)


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in sorted(NOT_TOLERATED)])
def test_quorum_fails_only_in_expected_ways_when_a_disk_is_lost_or_old(fault: Fault) -> None:
    failures = {seed: _outcome_of(fault, seed).broken for seed in _SEEDS}

    unexpected = {
        seed: failure
        for seed, failure in failures.items()
        if failure is not None and failure.invariant not in _EXPECTED_FAILURES[fault]
    }
    assert not unexpected


@pytest.mark.parametrize("fault", [pytest.param(fault, id=fault.name) for fault in sorted(NOT_TOLERATED)])
def test_quorum_recovers_in_some_runs_when_a_disk_is_lost_or_old(fault: Fault) -> None:
    struck = [outcome for outcome in (_outcome_of(fault, seed) for seed in _SEEDS) if outcome.strikes[fault]]

    recovered = [outcome.seed for outcome in struck if outcome.broken is None]
    assert recovered


@pytest.mark.rule("SCENARIO-16")
def test_quorum_loses_committed_records_when_a_lost_disk_decides_an_election() -> None:
    """A known limit of kraft.version 0. If this test fails one day, the quorum tolerates lost disks."""
    failures = [_outcome_of(Fault.LOST_DISK, seed).broken for seed in _SEEDS]

    assert "LeadersAreComplete" in [failure.invariant for failure in failures if failure is not None]


@pytest.mark.rule("FETCH-8")
def test_leader_reports_and_catches_up_a_voter_that_lost_its_disk(quiet_world: World) -> None:
    voter = follower_of(quiet_world)

    _restart(quiet_world, voter, lambda: voter.tamper(LossyDisk()))
    run_a_while(quiet_world)

    assert quiet_world.marks.counts[Mark.LOST_DISK_REPORTED] == 1
    assert quiet_world.committed.is_consistent_with(voter.log)
    assert voter.written.durable_end >= quiet_world.committed.end_offset > 0


@pytest.mark.rule("LOG-13")
def test_leader_reports_and_catches_up_a_voter_whose_flushed_records_look_like_a_torn_write(quiet_world: World) -> None:
    voter = follower_of(quiet_world)

    def flip_last_bit() -> None:
        last = voter.written.places_below(voter.written.durable_end)[-1]
        # A recovery point or a mark above the batch would refuse the start.
        voter.files.lose(f"{DIRECTORY}/{RECOVERY_POINT_NAME}")
        voter.files.lose(f"{DIRECTORY}/{FLUSHED_MARK_NAME}")
        voter.files.flip_bit(last.segment, last.end_position - 1)
        voter.tamper()

    _restart(quiet_world, voter, flip_last_bit)
    run_a_while(quiet_world)

    assert quiet_world.marks.counts[Mark.TORN_TAIL] == 1
    assert quiet_world.marks.counts[Mark.LOST_DISK_REPORTED] == 1
    assert voter.written.durable_end >= quiet_world.committed.end_offset


@pytest.mark.rule("STATE-10")
def test_node_adopts_the_epoch_of_its_log_when_its_election_state_is_older(quiet_world: World) -> None:
    voter = follower_of(quiet_world)
    last_epoch = voter.core.log.last_epoch

    def put_old_state() -> None:
        name, state = f"{DIRECTORY}/{ELECTION_STATE_NAME}", ElectionState(epoch=Epoch(0))
        voter.files.lose(name)
        ElectionStateFile(voter.files, name).write(state)
        voter.tamper()

    _restart(quiet_world, voter, put_old_state)
    run_a_while(quiet_world)

    assert quiet_world.marks.counts[Mark.LOG_AHEAD_OF_STORED_EPOCH] == 1
    assert voter.core.epoch == last_epoch > 0


@pytest.mark.rule("STATE-19")
def test_voter_stops_when_its_election_state_is_lost(quiet_world: World) -> None:
    voter = follower_of(quiet_world)

    def lose_state() -> None:
        voter.files.lose(f"{DIRECTORY}/{ELECTION_STATE_NAME}")
        voter.tamper()

    with pytest.raises(BrokenInvariantError, match=r"NoNodeHalts.*there is no quorum-state"):
        _restart_and_run(quiet_world, voter, lose_state)


@pytest.mark.rule("STATE-19")
def test_voter_comes_back_with_the_election_state_that_the_documentation_says(quiet_world: World) -> None:
    voter, leader = follower_of(quiet_world), leader_of(quiet_world)
    line = f'{{"leaderId":{leader.node_id},"leaderEpoch":{leader.core.epoch},"votedId":-1,"data_version":0}}'
    documented = line.replace(f":{leader.node_id},", ":2,", 1).replace(f":{leader.core.epoch},", ":17,", 1)

    def write_state() -> None:
        voter.files.lose(f"{DIRECTORY}/{ELECTION_STATE_NAME}")
        voter.files.put(f"{DIRECTORY}/{ELECTION_STATE_NAME}", line.encode())
        voter.tamper()

    _restart_and_run(quiet_world, voter, write_state)

    assert f"echo '{documented}' > quorum-state" in _HALTS.read_text()
    assert isinstance(voter.core.role, Follower)
    assert voter.core.leader_id == leader.node_id


@pytest.mark.rule("STATE-17")
def test_node_refuses_to_start_from_the_disk_of_another_node(quiet_world: World) -> None:
    voter, other = (machine for machine in quiet_world.machines if not machine.is_leader)

    with pytest.raises(ConfigError, match=f"node.id.*{other.node_id}|{other.node_id}"):
        _restart(quiet_world, voter, lambda: voter.tamper(other.files.copy()))
