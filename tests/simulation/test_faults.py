"""The faults do what they claim: a fault without an effect would make every run look better than it is."""

from __future__ import annotations

import errno
from dataclasses import replace

import pytest

from raft.core.effects import FlushLog, TruncateLog
from raft.core.messages import VoteRequest
from raft.core.roles import Follower
from raft.errors import DiskFullError, StorageError
from raft.records.batch import build_batch
from raft.records.batches import read_good_prefix
from raft.records.record import Record
from raft.types import Epoch, NodeId, Offset, OffsetAndEpoch, ReplicaKey
from tests.memory_files.files import Call, PowerCutError
from tests.simulation import peer_frames
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.connections import Connection, ConnectionKind
from tests.simulation.dice import Dice
from tests.simulation.drawing import draw_plan
from tests.simulation.faultless import follower_of, leader_of, run_a_while, send
from tests.simulation.faults.kinds import NOT_TOLERATED
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.machine import Machine
from tests.simulation.marks import Interruption, Mark, Marks
from tests.simulation.message import Message
from tests.simulation.network import Network
from tests.simulation.plan import RELIABLE_NETWORK
from tests.simulation.timeline import Timeline
from tests.simulation.world import World

_FILE = "file"


@pytest.fixture
def files() -> LossyDisk:
    return LossyDisk()


def _records(count: int) -> bytes:
    return b"".join(
        build_batch([Record(value=b"record %d" % offset)], base_offset=Offset(offset), epoch=Epoch(1))
        for offset in range(count)
    )


def _pre_vote() -> VoteRequest:
    return VoteRequest(
        cluster_id="any",
        epoch=Epoch(3),
        candidate=ReplicaKey(NodeId(1)),
        candidate_log_end=OffsetAndEpoch(epoch=Epoch(2), offset=Offset(9)),
        pre_vote=True,
    )


def test_timeline_reports_an_endless_loop_of_actions() -> None:
    timeline = Timeline()

    def again() -> None:
        timeline.after(0, again)

    again()

    with pytest.raises(BrokenInvariantError, match="TimePasses"):
        timeline.run(1)


def test_clock_shows_more_at_once_when_it_jumps() -> None:
    clock = Clock(Timeline(), ahead_ms=100, drift=0)

    clock.jump(50)

    assert clock.now_ms == 150
    assert clock.true_ms(150) == 0


def test_network_damages_only_what_a_checksum_covers_when_it_damages_records() -> None:
    marks = Marks()
    network = Network(
        replace(RELIABLE_NETWORK, damage_percent=100), timeline=Timeline(), dice=Dice(1, "network"), marks=marks
    )
    records = _records(4)

    arrived = [network.damaged(records) for _ in range(200)]

    prefixes = [read_good_prefix(damaged) for damaged in arrived]
    is_known_by = [
        len(prefix.batches) < 4 and (bool(prefix.damage) or len(damaged) < len(records))
        for prefix, damaged in zip(prefixes, arrived, strict=True)
    ]
    assert all(is_known_by)
    assert {len(prefix.batches) for prefix in prefixes} == {0, 1, 2, 3}
    assert marks.counts[Mark.RESPONSE_TRUNCATED] + marks.counts[Mark.RESPONSE_DAMAGED] == 200


def test_network_drops_held_messages_when_the_fault_phase_ends() -> None:
    timeline, arrived = Timeline(), list[str]()
    plan = replace(RELIABLE_NETWORK, held_percent=100, late_ms=(50, 50))
    network = Network(plan, timeline=timeline, dice=Dice(1, "network"), marks=Marks())
    network.carry(Message(1, 2), lambda: arrived.append("late"))
    timeline.run(60)
    network.carry(Message(1, 2), lambda: arrived.append("never"))

    network.end_faults()
    timeline.run(200)

    assert arrived == ["late"]


@pytest.mark.rule("LOG-17")
def test_disk_reports_a_process_that_uses_it_after_an_error(files: LossyDisk) -> None:
    file = files.create(_FILE)
    files.fail(Call.FLUSH, reason=errno.EIO)
    with pytest.raises(StorageError):
        file.flush()

    with pytest.raises(BrokenInvariantError, match="NoDiskCallsAfterAnError"):
        file.flush()


@pytest.mark.rule("LOG-27")
def test_disk_serves_a_process_on_after_it_had_no_room(files: LossyDisk) -> None:
    file = files.create(_FILE)
    files.take_all_room(after_writes=1)
    file.append(b"abc")
    with pytest.raises(DiskFullError):
        file.append(bytes(1000))

    file.truncate(3)
    files.fill(None)
    file.append(b"xyz")

    assert files.read(_FILE) == b"abcxyz"
    assert files.disk_error is None


def test_disk_serves_the_next_process_after_an_error(files: LossyDisk) -> None:
    file = files.create(_FILE)
    files.fail(Call.WRITE, reason=errno.EIO, written_bytes=3)
    with pytest.raises(StorageError):
        file.append(b"abcdef")
    assert files.disk_error is not None
    assert files.disk_error.is_partly_done

    files.kill()

    files.open(_FILE).append(b"xyz")
    assert files.read(_FILE) == b"abcxyz"


def test_disk_loses_power_in_place_of_the_named_call(files: LossyDisk) -> None:
    file = files.create(_FILE)
    files.cut_power_at(Call.FLUSH)
    file.append(b"abc")

    with pytest.raises(PowerCutError):
        file.flush()

    assert files.power_cut_at is Call.FLUSH


def test_disk_has_its_old_bytes_when_bit_rot_is_restored(files: LossyDisk) -> None:
    files.put(_FILE, b"abc")
    files.rot(_FILE, 1, 0)
    assert files.read(_FILE) == b"acc"

    files.restore()

    assert files.read(_FILE) == b"abc"
    assert not files.is_rotten


def test_copy_of_disk_holds_what_a_power_cut_would_leave(files: LossyDisk) -> None:
    files.put("kept", b"abc")
    files.create(_FILE).append(b"never flushed")

    copy = files.copy()

    assert copy.names_in("") == ["kept"]
    assert copy.read("kept") == b"abc"


@pytest.mark.parametrize("effect", [TruncateLog(end_offset=Offset(1)), FlushLog(number=1, end_offset=Offset(1))])
def test_process_is_killed_in_place_of_the_named_effect(world: World, effect: TruncateLog | FlushLog) -> None:
    victim = follower_of(world)

    victim.kill_instead_of(effect)

    assert victim.process is None
    assert world.marks.interruptions[Interruption("killed", type(effect).__name__)] == 1


def test_node_stops_when_a_flush_fails(world: World) -> None:
    victim = leader_of(world)
    world.keep_down(frozenset())
    incarnation = victim.incarnation
    victim.files.fail(Call.FLUSH, reason=errno.EIO)

    run_a_while(world)

    assert world.marks.counts[Mark.FLUSH_FAILED] == 1
    assert victim.incarnation == incarnation + 1


@pytest.mark.rule("LOG-13", "LOG-26")
def test_wrong_bit_below_the_recovery_point_is_found_at_the_start_or_by_the_scrub(world: World) -> None:
    victim = follower_of(world)
    world.keep_down(frozenset([victim.node_id]))
    place = victim.written.places_below(victim.recovery_point)[0]
    victim.files.rot(place.segment, place.end_position - 1, 0)

    world.keep_down(frozenset())

    assert world.marks.counts[Mark.DAMAGED_LOG_REFUSED] + world.marks.counts[Mark.DAMAGE_FOUND_BY_SCRUB] == 1
    assert victim.process is None


@pytest.mark.rule("GEN-8")
def test_follower_replaces_its_connection_when_that_is_half_open(world: World) -> None:
    """The fetch timeout is shorter than the request timeout, so the follower changes its role first."""
    follower, leader = follower_of(world), leader_of(world)
    world.post_office.make_half_open(Connection(follower.node_id, leader.node_id, ConnectionKind.FETCHES))

    run_a_while(world)

    assert world.marks.counts[Mark.SENT_ON_HALF_OPEN_CONNECTION] > 0
    assert world.marks.counts[Mark.CONNECTION_REPLACED] == 1
    assert isinstance(follower.core.role, Follower)


def test_request_reaches_another_node_when_its_address_is_misdirected(world: World) -> None:
    follower, leader = follower_of(world), leader_of(world)
    other = next(machine for machine in world.machines if machine not in (follower, leader))
    # An address concerns only connections that are opened later.
    world.post_office.reset(follower.node_id, leader.node_id)
    world.post_office.misdirect(leader.node_id, other)
    request = replace(_pre_vote(), cluster_id="simulated", voter=ReplicaKey(leader.node_id))

    send(world, follower, leader, request)
    world.timeline.run(world.timeline.now_ms + 200)

    assert world.marks.counts[Mark.REQUEST_FOR_ANOTHER_VOTER] >= 1


@pytest.mark.rule("COMPAT-2", "PREVOTE-18")
def test_post_office_reports_an_unsupported_version_when_one_side_is_old(world: World) -> None:
    follower, leader = follower_of(world), leader_of(world)
    world.versions.old_nodes = (leader.node_id,)

    assert _round_trip(world, follower, leader, _pre_vote()) is None
    assert world.marks.counts[Mark.OLD_PEER_CANNOT_PRE_VOTE] == 1
    assert _round_trip(world, follower, leader, replace(_pre_vote(), pre_vote=False)) is not None


@pytest.mark.rule("TEST-16")
def test_post_office_reports_a_request_that_differs_after_decoding(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    follower, leader = follower_of(world), leader_of(world)
    monkeypatch.setattr(peer_frames, "request_from_wire", lambda *_: "another request")

    with pytest.raises(BrokenInvariantError, match="RequestsSurviveEncoding"):
        _round_trip(world, follower, leader, _pre_vote())


def _round_trip(world: World, sender: Machine, receiver: Machine, request: VoteRequest) -> Message | None:
    """Send a request from one node to another; return the response that is sent, None if there is none."""
    posted: list[Message] = []
    world.post_office.posted = lambda message, _: posted.append(message)
    send(world, sender, receiver, request)
    world.timeline.run(world.timeline.now_ms + 200)
    return next((message for message in posted if message.is_response and message.request is request), None)


def test_plan_of_a_seed_has_no_untolerated_fault() -> None:
    for seed in range(1000):
        assert not NOT_TOLERATED & draw_plan(seed).faults.every_ms.keys()
