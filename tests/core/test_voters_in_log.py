"""Voters and kraft.version in the log, which a voter with static voters compares with its own (CONTROL-10)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.core.effects import Effect, Halt, HaltCause, InstallSnapshot
from raft.core.events import SnapshotChecked
from raft.core.messages import FetchSnapshotResponse
from raft.transactions import ProducerState, SnapshotSummary
from raft.types import Batch, LoggedVoters, NodeId, Offset
from tests.core.builder import Node, a_follower
from tests.core.orders import appends, flushes, halts
from tests.core.wording import batch, fetch_response, led_by, point


def voters(*ids: int, kraft_version: int | None = 1) -> LoggedVoters:
    return LoggedVoters(voters=tuple(map(NodeId, ids)), kraft_version=kraft_version)


OTHERS = "the log names the voters [1, 2, 4], the configuration [1, 2, 3]"
NEWER = "the log has kraft.version 2, expected 1 at most"


def control_batch(logged: LoggedVoters) -> Batch:
    plain = batch(10, epoch=5, control_types=(5, 6))
    return replace(plain, header=replace(plain.header, logged_voters=logged))


def gets(node: Node, *batches: Batch) -> list[Effect]:
    return node.gets(fetch_response(epoch=5, leader=2, batches=batches), of=2)


@pytest.mark.parametrize(
    ("logged", "difference"),
    [
        pytest.param(voters(1, 2, 4), OTHERS, id="another voter"),
        pytest.param(voters(1, 2), "the log names the voters [1, 2], the configuration [1, 2, 3]", id="a voter less"),
        pytest.param(LoggedVoters(kraft_version=2), NEWER, id="a newer kraft.version"),
        pytest.param(voters(1, 2, 3, kraft_version=2), NEWER, id="our voters and a newer kraft.version"),
    ],
)
@pytest.mark.rule("CONTROL-10")
def test_voter_stops_before_it_appends_other_voters_than_its_own(logged: LoggedVoters, difference: str) -> None:
    voter = a_follower(of=2, epoch=5)

    effects = gets(voter, control_batch(logged))

    assert effects == [halts(HaltCause.OTHER_VOTERS, f"{difference}, at offset 10")]
    assert voter.core.log.end_offset == 10


@pytest.mark.parametrize(
    "logged",
    [
        pytest.param(voters(3, 1, 2), id="our voters"),
        pytest.param(LoggedVoters(kraft_version=1), id="kraft.version 1"),
        pytest.param(LoggedVoters(kraft_version=0), id="kraft.version 0"),
    ],
)
@pytest.mark.rule("CONTROL-10")
def test_voter_appends_the_records_that_name_its_own_voters(logged: LoggedVoters) -> None:
    batch_of_voters = control_batch(logged)

    effects = gets(a_follower(of=2, epoch=5), batch_of_voters)

    assert effects == [appends(batch_of_voters), flushes(11)]


@pytest.mark.rule("CONTROL-10")
def test_observer_appends_the_records_of_other_voters() -> None:
    batch_of_voters = control_batch(voters(2, 4))

    effects = gets(a_follower(of=2, epoch=5, voters=(2, 3)), batch_of_voters)

    assert effects == [appends(batch_of_voters), flushes(11)]


@pytest.mark.parametrize(
    ("of_node", "logged", "stops"),
    [
        pytest.param((1, 2, 3), voters(1, 2, 4), True, id="a voter, and other voters"),
        pytest.param((1, 2, 3), voters(1, 2, 3), False, id="a voter, and its own voters"),
        pytest.param((1, 2, 3), None, False, id="a voter, and a snapshot of our own"),
        pytest.param((2, 3), voters(1, 2, 4), False, id="an observer"),
    ],
)
@pytest.mark.rule("CONTROL-10")
def test_voter_does_not_install_a_snapshot_of_other_voters(
    of_node: tuple[int, ...], logged: LoggedVoters | None, stops: bool
) -> None:
    node, snapshot = a_follower(of=2, epoch=5, voters=of_node), point(4, 30)
    node.gets(fetch_response(epoch=5, leader=2, snapshot=(4, 30)), of=2)
    piece = FetchSnapshotResponse(leader=led_by(2, epoch=5), snapshot=snapshot, position=0, piece=b"all", size_bytes=3)
    node.gets(piece, of=2)
    contents = SnapshotSummary(
        end=snapshot, epochs=(), producers=ProducerState().image(Offset(30)), logged_voters=logged
    )

    effects = node.handle(SnapshotChecked(snapshot=snapshot, contents=contents), now_ms=100)

    assert [effect for effect in effects if isinstance(effect, Halt)] == (
        [halts(HaltCause.OTHER_VOTERS, f"{OTHERS}, in the snapshot at {snapshot}")] if stops else []
    )
    assert any(isinstance(effect, InstallSnapshot) for effect in effects) is not stops
