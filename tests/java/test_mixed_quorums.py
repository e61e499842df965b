"""Quorums of Kafka's nodes and ours: whoever leads, and whoever fails in whatever way, they hold one log.

Each of four quorums lives through one long story of faults; the tests look at what is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.java.dumped_log import Row, as_kafka_prints_it, read_dumps
from tests.java.fault_run import LEADER_CHANGES, FaultRun
from tests.java.java_log import errors
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft_json
from tests.java.mixed_quorum import CUTS, Kind, MixedQuorum
from tests.node.harness.processes import wrong_lines
from tests.node.harness.waiting import eventually

pytestmark = pytest.mark.java

_JAVA, _OURS = Kind.JAVA, Kind.OURS


@dataclass(frozen=True, slots=True)
class Story:
    """A quorum that has gone through all faults and has ended, and what happened to it."""

    quorum: MixedQuorum
    run: FaultRun

    def segments(self) -> list[Path]:
        """The log of each node."""
        return [segment for seat in self.quorum.seats.values() for segment in seat.segments()]

    def checkpoints(self) -> list[Path]:
        """Where each node has written where its epochs begin."""
        return [segment.with_name("leader-epoch-checkpoint") for segment in self.segments()]

    def is_the_same_everywhere(self) -> bool:
        """Whether all nodes hold the same bytes."""
        return all(len({path.read_bytes() for path in paths}) == 1 for paths in (self.segments(), self.checkpoints()))

    def records(self) -> list[Row]:
        """The log, batches and records, as `kraft dump-log` shows it."""
        return kraft_json("dump-log", str(self.segments()[0]))


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(([_JAVA, _JAVA, _OURS], None), id="2 of Kafka's and 1 of ours"),
        pytest.param(([_JAVA, _OURS, _OURS], None), id="1 of Kafka's and 2 of ours"),
        pytest.param(([_JAVA, _JAVA, _JAVA], _OURS), id="3 of Kafka's, observed by ours"),
        pytest.param(([_OURS, _OURS, _OURS], _JAVA), id="3 of ours, observed by Kafka's"),
    ],
)
def story(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Story:
    voters, observer = request.param
    with MixedQuorum(kafka, tmp_path_factory.mktemp("mixed"), voters, observer) as quorum:
        story = Story(quorum, FaultRun(quorum))
        story.run.go()
        quorum.end_when(story.is_the_same_everywhere)
    return story


@pytest.fixture(scope="module")
def errors_of_java_alone(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """What Kafka's nodes complain of when they are among themselves."""
    with MixedQuorum(kafka, tmp_path_factory.mktemp("java"), [_JAVA, _JAVA, _JAVA]) as quorum:
        quorum.reign()
        return eventually(lambda: java_errors(quorum), "an error", within_s=30)


def java_errors(quorum: MixedQuorum) -> set[str]:
    logs = [quorum.servers[node_id].log_file.read_text() for node_id in quorum.of_kind(_JAVA)]
    return {error for log in logs for error in errors(log)}


@pytest.mark.rule("TEST-18")
def test_voters_of_every_kind_lead_when_leaders_fail_again_and_again(story: Story) -> None:
    changes = [row for row in with_epochs(story.records()) if row.get("type") == "LeaderChange"]
    leaders = {change["epoch"]: change["leaderId"] for change in changes}

    assert len(story.run.reigns) > LEADER_CHANGES
    assert story.run.kinds_that_led == story.quorum.kinds_of_voters
    assert {reign.epoch: reign.leader_id for reign in story.run.reigns}.items() <= leaders.items()


def with_epochs(rows: list[Row]) -> list[Row]:
    """The records, each with the epoch of the batch before it."""
    records, epoch = [], 0
    for row in rows:
        epoch = row.get("partitionLeaderEpoch", epoch)
        if "offset" in row:
            records.append(row | {"epoch": epoch})
    return records


@pytest.mark.rule("TEST-8", "TEST-9")
def test_every_node_holds_the_same_records_when_all_is_over(kafka: Kafka, story: Story) -> None:
    files = ",".join(str(segment) for segment in story.segments())

    dumps = read_dumps(kafka.program(MainClass.DUMP_LOG_SEGMENTS).output("--files", files, "--print-data-log"))

    assert len(dumps) == len(story.quorum.seats)
    assert all(dump == dumps[0] for dump in dumps)
    assert [as_kafka_prints_it(row, with_content=True) for row in story.records()] == dumps[0]
    assert story.is_the_same_everywhere()


@pytest.mark.rule("LOG-10", "LOG-11", "LOG-12")
def test_every_node_knows_where_epochs_begin_when_all_is_over(story: Story) -> None:
    starts: dict[int, int] = {}
    for row in with_epochs(story.records()):
        starts.setdefault(row["epoch"], row["offset"])

    for checkpoint in story.checkpoints():
        version, count, *entries = checkpoint.read_text().splitlines()
        assert (version, int(count)) == ("0", len(entries))
        assert entries == [f"{epoch} {start_offset}" for epoch, start_offset in starts.items()], checkpoint


@pytest.mark.rule("TEST-8", "HW-6")
def test_what_we_acknowledged_is_there_and_what_nobody_could_commit_is_not(story: Story) -> None:
    values = {row["offset"]: row.get("value") for row in story.records() if "offset" in row}

    workload = story.run.workload
    acknowledged = {offset: value.decode() for offset, value in workload.acknowledged.items()}
    assert bool(acknowledged) == (_OURS in story.quorum.kinds_of_voters)
    assert acknowledged.items() <= values.items()
    assert {value.decode() for value in workload.written_in_vain}.isdisjoint(values.values())


@pytest.mark.rule("SCENARIO-1", "PREVOTE-9", "TEST-11")
def test_voters_of_every_kind_asked_for_pre_votes_in_vain_when_they_were_cut_off(story: Story) -> None:
    # The story itself fails if the leader or the epoch changes when a node comes back.
    kinds = story.quorum.kinds_of_voters
    assert story.run.asked_in_vain == (dict.fromkeys(kinds, len(CUTS)) if _OURS in kinds else {})


def test_kafkas_nodes_complain_of_nothing_that_they_do_not_complain_of_among_themselves(
    story: Story, errors_of_java_alone: set[str]
) -> None:
    assert java_errors(story.quorum) <= errors_of_java_alone


def test_our_nodes_complain_of_nothing(story: Story) -> None:
    for node_id in story.quorum.of_kind(_OURS):
        log = story.quorum.servers[node_id].log_file.read_text()
        assert "listens on" in log
        assert wrong_lines(log) == []
