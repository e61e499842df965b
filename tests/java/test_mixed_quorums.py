"""Quorums of Kafka's nodes and ours have one log, whichever node leads and whichever faults occur.

Each of four quorums has one long run of faults; the tests check its logs and its history.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.java.dumped_log import Row, as_kafka_prints_it, read_dumps
from tests.java.fault_run import LEADER_CHANGES, FaultRun
from tests.java.java_log import errors
from tests.java.kafka import Kafka, MainClass
from tests.java.mixed_quorum import NETWORK_FAULTS, Kind, MixedQuorum
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft_json

pytestmark = pytest.mark.java

_JAVA, _OURS = Kind.JAVA, Kind.OURS


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A quorum whose run of faults has ended, and whose nodes have ended."""

    quorum: MixedQuorum
    faults: FaultRun

    def segments(self) -> list[Path]:
        """Return the log of each node."""
        return [segment for node in self.quorum.nodes.values() for segment in node.segments()]

    def checkpoints(self) -> list[Path]:
        """Return the leader-epoch-checkpoint of each node."""
        return [segment.with_name("leader-epoch-checkpoint") for segment in self.segments()]

    def has_equal_files(self) -> bool:
        """Return whether the logs of all nodes have the same bytes."""
        return all(len({path.read_bytes() for path in paths}) == 1 for paths in (self.segments(), self.checkpoints()))

    def records(self) -> list[Row]:
        """Return the log, batches and records, as `kraft dump-log` shows it."""
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
def finished(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> FinishedRun:
    voters, observer = request.param
    with MixedQuorum(kafka, tmp_path_factory.mktemp("mixed"), voters, observer) as quorum:
        finished = FinishedRun(quorum, FaultRun(quorum))
        finished.faults.run()
        quorum.end_when(finished.has_equal_files)
    return finished


@pytest.fixture(scope="module")
def errors_of_java_alone(kafka: Kafka, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The errors that Kafka's nodes log without a node of ours."""
    with MixedQuorum(kafka, tmp_path_factory.mktemp("java"), [_JAVA, _JAVA, _JAVA]) as quorum:
        quorum.wait_for_leader()
        return eventually(lambda: java_errors(quorum), "an error")


def java_errors(quorum: MixedQuorum) -> set[str]:
    return {error for node_id in quorum.of_kind(_JAVA) for error in errors(quorum.nodes[node_id].output)}


@pytest.mark.rule("TEST-18")
def test_voters_of_every_kind_lead_when_leaders_fail(finished: FinishedRun) -> None:
    changes = [row for row in with_epochs(finished.records()) if row.get("type") == "LeaderChange"]
    leaders = {change["epoch"]: change["leaderId"] for change in changes}

    assert len(finished.faults.leaderships) > LEADER_CHANGES
    assert finished.faults.kinds_that_led == finished.quorum.kinds_of_voters
    known = {leadership.epoch: leadership.leader_id for leadership in finished.faults.leaderships}
    assert known.items() <= leaders.items()


def with_epochs(rows: list[Row]) -> list[Row]:
    """Return the records, each with the epoch of its batch."""
    records, epoch = [], 0
    for row in rows:
        epoch = row.get("partitionLeaderEpoch", epoch)
        if "offset" in row:
            records.append(row | {"epoch": epoch})
    return records


@pytest.mark.rule("TEST-8", "TEST-9")
def test_every_node_has_the_same_records_when_the_run_ends(kafka: Kafka, finished: FinishedRun) -> None:
    files = ",".join(str(segment) for segment in finished.segments())

    dumps = read_dumps(kafka.output(MainClass.DUMP_LOG_SEGMENTS, "--files", files, "--print-data-log"))

    assert len(dumps) == len(finished.quorum.nodes)
    assert all(dump == dumps[0] for dump in dumps)
    assert [as_kafka_prints_it(row, with_content=True) for row in finished.records()] == dumps[0]
    assert finished.has_equal_files()


@pytest.mark.rule("LOG-10", "LOG-11", "LOG-12")
def test_every_node_has_the_start_offsets_of_all_epochs_when_the_run_ends(finished: FinishedRun) -> None:
    starts: dict[int, int] = {}
    for row in with_epochs(finished.records()):
        starts.setdefault(row["epoch"], row["offset"])

    for checkpoint in finished.checkpoints():
        version, count, *entries = checkpoint.read_text().splitlines()
        assert (version, int(count)) == ("0", len(entries))
        assert entries == [f"{epoch} {start_offset}" for epoch, start_offset in starts.items()], checkpoint


@pytest.mark.rule("TEST-8", "HW-6")
def test_log_has_all_acknowledged_records_and_no_uncommitted_one_when_the_run_ends(finished: FinishedRun) -> None:
    values = {row["offset"]: row.get("value") for row in finished.records() if "offset" in row}

    workload = finished.faults.workload
    acknowledged = {offset: value.decode() for offset, value in workload.acknowledged.items()}
    assert bool(acknowledged) == (_OURS in finished.quorum.kinds_of_voters)
    assert acknowledged.items() <= values.items()
    assert {value.decode() for value in workload.uncommitted}.isdisjoint(values.values())


@pytest.mark.rule("SCENARIO-1", "PREVOTE-9", "TEST-11")
def test_voters_of_every_kind_do_not_change_the_leader_when_they_return_after_a_pre_vote(finished: FinishedRun) -> None:
    # The run itself fails if the leader or the epoch changes when a node returns.
    kinds = finished.quorum.kinds_of_voters
    assert finished.faults.rejected_pre_votes == (dict.fromkeys(kinds, len(NETWORK_FAULTS)) if _OURS in kinds else {})


def test_kafka_nodes_log_no_error_that_they_do_not_also_log_without_our_nodes(
    finished: FinishedRun, errors_of_java_alone: set[str]
) -> None:
    assert java_errors(finished.quorum) <= errors_of_java_alone


def test_our_nodes_log_no_error(finished: FinishedRun) -> None:
    for node_id in finished.quorum.of_kind(_OURS):
        node = finished.quorum.nodes[node_id]
        assert "listens on" in node.output
        assert node.error_lines == []
