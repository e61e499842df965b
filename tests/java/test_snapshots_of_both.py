"""A node that comes late loads the leader's snapshot, whether the leader is one of Kafka's nodes or one of ours."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from raft.client import Client
from raft.records.batch import build_batch
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.types import Batch, Endpoint, Epoch, Offset, Uuid
from tests.hang import HANG_S
from tests.java.compacted_quorum import SMALL_SNAPSHOTS
from tests.java.java_log import errors
from tests.java.kafka import Kafka
from tests.java.kraft import end_offset
from tests.java.librdkafka import produce
from tests.java.mixed_quorum import Leadership
from tests.java.quorum_view import quorum_view_of
from tests.java.raft_server import TOPIC_ID, TOPIC_NAME, raft_server_observer, raft_server_voters
from tests.node.harness.waiting import eventually
from tests.processes.kraft import kraft_json
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

_OBSERVER_ID = 9
_SNAPSHOT_RECORDS = 200
# At 150 records a second, some seconds pass before a leader deletes the records behind a snapshot that it sends.
_JAVA_SETTINGS = {"metadata.max.retention.bytes": "40000", "internal.metadata.log.segment.bytes": "4000"}


def log_start(node: NodeProcess) -> Offset:
    """Return where the log of a node begins; 0 while it has no log."""
    starts = [int(path.stem) for path in node.segments()]
    return Offset(min(starts, default=0))


def batches(node: NodeProcess) -> list[Batch]:
    """Return the log of a node."""
    return [batch for segment in node.segments() for batch in read_batches(segment.read_bytes())]


def checkpoints(node: NodeProcess) -> list[Path]:
    """Return the snapshots of a node, in order."""
    return sorted(node.log_dir.glob("*-0/*.checkpoint"))


def newest_snapshot(node: NodeProcess, *, after: Offset = Offset(0)) -> Offset | None:
    """Return the end offset of the newest snapshot of a node, if it is higher than `after`."""
    end = max((Offset(int(path.name[:20])) for path in checkpoints(node)), default=after)
    return end if end > after else None


def wait_for_end(node: NodeProcess, end: Offset) -> None:
    """Wait until the log of a node reaches an offset.

    Raises:
        AssertionError: the process ended, or the log does not in time.
    """

    def look() -> bool:
        assert node.is_running, node.last_output[-4000:]
        log = batches(node)
        return bool(log) and log[-1].header.end_offset >= end

    eventually(look, f"the log of {node.name} reaches {end}", within_s=HANG_S, every_s=0.1)


def same_records(one: NodeProcess, other: NodeProcess, end: Offset) -> bool:
    """Return whether two logs have the same bytes from where both have begun up to an offset."""
    start = max(log_start(one), log_start(other))
    logs = [
        [batch.payload for batch in batches(node) if start <= batch.header.base_offset < end] for node in (one, other)
    ]
    assert logs[0], f"no records between {start} and {end}"
    return logs[0] == logs[1]


# A node of ours leads


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[NodeQuorum]:
    """Three voters of ours that delete what a snapshot replaces; they take such records as Kafka's nodes read."""
    voters = raft_server_voters(tmp_path, 3, {"cleanup.policy": "delete", **SMALL_SNAPSHOTS})
    with NodeQuorum(tmp_path, voters).start() as quorum:
        yield quorum


@contextmanager
def observer_of_kafkas(kafka: Kafka, folder: Path, servers: Sequence[Endpoint]) -> Iterator[NodeProcess]:
    properties = raft_server_observer(folder, _OBSERVER_ID, {}, servers=servers, advertise=lambda _, endpoint: endpoint)
    with kafka.raft_server(properties, folder / "observer", records_per_s=1) as observer:
        yield observer


def append_values(client: Client, count: int) -> None:
    """Append records, each in a batch of its own."""
    for at in range(count):
        record = Record(value=b"value %06d, " % at * 20, timestamp_ms=time.time_ns() // 1_000_000)
        client.append(build_batch([record]))


def append_until_cut(quorum: NodeQuorum, client: Client, beyond: Offset) -> None:
    """Append until the logs of all nodes begin behind an offset."""

    def look() -> bool:
        append_values(client, 20)
        return min(map(log_start, quorum.nodes.values())) > beyond

    eventually(look, f"all logs begin behind {beyond}", within_s=HANG_S)


def append_followed(quorum: NodeQuorum, client: Client, observer: NodeProcess) -> Offset:
    """Append records once an observer follows, so that none is deleted before it has it, and return the end."""
    append_values(client, 1)
    wait_for_end(observer, end_offset(quorum))
    append_values(client, 30)
    end = end_offset(quorum)
    wait_for_end(observer, end)
    return end


@pytest.mark.rule("SNAPSHOT-2", "FETCH-18", "DIVERGE-10")
def test_observer_of_kafkas_loads_our_snapshot_follows_and_loads_a_newer_one_when_it_returns(
    kafka: Kafka, ours: NodeQuorum, tmp_path: Path
) -> None:
    with ExitStack() as exits, ours.client() as client:
        # Two epochs and a writer, so that the state in the snapshot has every part that such a quorum may have.
        settings = {"enable.idempotence": True, "batch.num.messages": 1}
        written = [Record(value=b"idempotent", timestamp_ms=time.time_ns() // 1_000_000) for _ in range(3)]
        produce(ours.bootstrap_servers, written, settings, topic=TOPIC_NAME)
        first_leader = ours.leader()
        first_leader.kill()
        ours.leader_id()
        first_leader.start().wait_until_serving()
        append_until_cut(ours, client, Offset(0))
        observer = exits.enter_context(observer_of_kafkas(kafka, tmp_path, ours.endpoints))

        observer.start()
        eventually(lambda: checkpoints(observer), "the observer has a snapshot", within_s=HANG_S)
        end = append_followed(ours, client, observer)
        (loaded,) = checkpoints(observer)
        assert log_start(observer) == int(loaded.name[:20])
        assert same_records(observer, ours.leader(), end)
        state = [row for row in kraft_json("dump-log", str(loaded)) if "baseOffset" in row]
        eventually(
            lambda: (
                {each.node_id: each.log_end_offset for each in client.describe_quorum().observers}
                == {_OBSERVER_ID: end}
            ),
            "the leader knows the observer's end",
        )

        observer.kill()
        # See `MixedQuorum`: it does not start again with this file.
        (observer.partition / "quorum-state").unlink()
        append_until_cut(ours, client, end)
        observer.start()
        eventually(lambda: checkpoints(observer)[-1] > loaded, "it has a newer snapshot", within_s=HANG_S)
        last_end = append_followed(ours, client, observer)
        assert same_records(observer, ours.leader(), last_end)
        output = observer.output

    assert {row["partitionLeaderEpoch"] for row in state} == {1, 2}
    assert [row["baseSequence"] for row in state if row["producerId"] >= 0] == [0, 1, 2]
    assert output.count("Fetching snapshot") == 2
    assert errors(output) == set()


# A node of Kafka's leads


@pytest.fixture
def kafkas(kafka: Kafka, tmp_path: Path) -> Iterator[dict[int, NodeProcess]]:
    """Two voters of Kafka's, which write snapshots and cut their logs, and one of ours, which does not run yet."""
    voters = raft_server_voters(tmp_path, 3, _JAVA_SETTINGS)
    with ExitStack() as exits:
        nodes = {}
        for node_id, properties in voters.items():
            folder = tmp_path / f"process-{node_id}"
            nodes[node_id] = exits.enter_context(
                NodeProcess(_of_ours(properties), folder)
                if node_id == len(voters)
                else kafka.raft_server(
                    properties, folder, records_per_s=150, record_bytes=64, snapshot_records=_SNAPSHOT_RECORDS
                )
            )
        for node_id in (1, 2):
            nodes[node_id].start()
        yield nodes


def _of_ours(properties: dict[str, str]) -> dict[str, str]:
    # It keeps everything (cleanup.policy=none), and does not know Kafka's internal keys.
    return {key: value for key, value in properties.items() if key not in _JAVA_SETTINGS}


def cut_behind(nodes: dict[int, NodeProcess], offset: Offset) -> None:
    """Wait until the logs of both nodes of Kafka's begin behind an offset."""

    def look() -> bool:
        for node_id in (1, 2):
            assert nodes[node_id].is_running, nodes[node_id].last_output[-4000:]
        return min(log_start(nodes[node_id]) for node_id in (1, 2)) > offset

    eventually(look, f"Kafka's logs begin behind {offset}", within_s=HANG_S, every_s=0.1)


def leadership(node: NodeProcess, *, after: Epoch = Epoch(0)) -> Leadership | None:
    """Return the leader that a node knows, once that has committed a record of an epoch higher than `after`."""
    view = quorum_view_of(node.endpoint, Uuid(TOPIC_ID))
    if view is None or view.leader_id is None or view.high_watermark is None or view.epoch <= after:
        return None
    return Leadership(view.epoch, view.leader_id)


@pytest.mark.rule("FETCH-23", "LOG-15")
def test_voter_of_ours_that_keeps_everything_loads_the_snapshot_of_kafkas_leader_and_follows(
    kafkas: dict[int, NodeProcess],
) -> None:
    ours = kafkas[3]
    cut_behind(kafkas, Offset(0))
    ours.start().wait_until_serving()
    first = eventually(lambda: newest_snapshot(ours), "a snapshot", within_s=HANG_S)
    wait_for_end(ours, Offset(first + _SNAPSHOT_RECORDS))

    # The leader deletes records all the time: a node that loads slowly needs the next snapshot as well.
    ours.kill()
    loaded = newest_snapshot(ours)
    assert loaded is not None
    assert log_start(ours) == loaded

    end = batches(ours)[-1].header.end_offset
    cut_behind(kafkas, end)
    ours.start().wait_until_serving()
    newer = eventually(lambda: newest_snapshot(ours, after=loaded), "a newer snapshot", within_s=HANG_S)
    wait_for_end(ours, Offset(newer + _SNAPSHOT_RECORDS))

    # It has everything that it needs to vote and to lead.
    before = eventually(lambda: leadership(ours), "a leader", within_s=HANG_S)
    if kafkas[before.leader_id] is not ours:
        kafkas[before.leader_id].kill()
        eventually(lambda: leadership(ours, after=before.epoch), "another leader that commits", within_s=HANG_S)
    assert ours.error_lines == []
