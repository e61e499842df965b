"""kafka-dump-log on segments and indexes that our nodes wrote, against `kraft dump-log`."""

from __future__ import annotations

import random
import shutil
import struct
from pathlib import Path

import pytest

from raft.records.batch import build_batch
from raft.records.compression import Compression
from raft.records.record import Record
from tests.java.dumped_log import as_kafka_prints_it, read_dump
from tests.java.kafka import Kafka, MainClass
from tests.java.kraft import kraft_quorum
from tests.java.librdkafka import produce
from tests.java.samples import SOME_TIME_MS, records_of_every_kind
from tests.processes.finished import Finished
from tests.processes.kraft import kraft_json
from tests.processes.node_quorum import NodeQuorum

pytestmark = pytest.mark.java

_RECORDS = 64
_MEBIBYTE = 1 << 20
_OFFSET_ENTRY = struct.Struct(">ii")
_TIME_ENTRY = struct.Struct(">qi")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The segments of a leader and of a follower, with batches of every kind in two epochs."""
    with kraft_quorum(tmp_path_factory.mktemp("written")).start() as nodes:
        first_leader_id = nodes.leader_id()
        write_every_kind(nodes, first_timestamp_ms=SOME_TIME_MS)
        nodes.nodes[first_leader_id].kill()
        leader_id = nodes.leader_id()
        # These records have earlier timestamps than those of the first epoch; the time index must stay valid.
        write_every_kind(nodes, first_timestamp_ms=SOME_TIME_MS - 1_000_000)
        nodes.settle()
        (follower_id,) = set(nodes.running) - {leader_id}
        nodes.stop()
    return {"leader": only_segment(nodes, leader_id), "follower": only_segment(nodes, follower_id)}


@pytest.fixture(scope="module")
def rolled(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The segments of a node that has rolled its segment twice."""
    dice = random.Random(1)
    values = [Record(value=dice.randbytes(100_000), timestamp_ms=SOME_TIME_MS + at) for at in range(200)]
    settings = {"metadata.log.segment.bytes": str(8 * _MEBIBYTE)}
    with kraft_quorum(tmp_path_factory.mktemp("rolled"), 1, settings).start() as nodes:
        nodes.leader_id()
        produce(nodes.bootstrap_servers, values, {"compression.type": "none"})
        nodes.stop()
        (voter,) = nodes.nodes.values()
    return voter.segments()


def only_segment(nodes: NodeQuorum, node_id: int) -> Path:
    (segment,) = nodes.nodes[node_id].segments()
    return segment


def write_every_kind(nodes: NodeQuorum, *, first_timestamp_ms: int) -> None:
    """Write with each codec, compressed by librdkafka and by us, with an idempotent producer and without one."""
    with nodes.client() as client:
        for codec in Compression:
            records = records_of_every_kind(_RECORDS, codec.name, first_timestamp_ms=first_timestamp_ms)
            settings = {"compression.type": codec.name.lower(), "enable.idempotence": True}
            produce(nodes.bootstrap_servers, records, settings)
            client.append(build_batch(records, compression=codec))


def dump(kafka: Kafka, files: list[Path], *options: str) -> Finished:
    """Run kafka-dump-log; its exit code is 0 whatever it finds."""
    return kafka.run(MainClass.DUMP_LOG_SEGMENTS, "--files", ",".join(map(str, files)), *options)


def indexes_of(segment: Path) -> list[Path]:
    return [segment.with_suffix(".index"), segment.with_suffix(".timeindex")]


@pytest.mark.rule("LOG-1", "LOG-2", "LOG-3", "CONTROL-3")
@pytest.mark.parametrize("role", ["leader", "follower"])
@pytest.mark.parametrize("option", ["--print-data-log", "--deep-iteration"])
def test_dump_tool_prints_of_our_segment_what_kraft_prints(
    kafka: Kafka, written: dict[str, Path], role: str, option: str
) -> None:
    finished = dump(kafka, [written[role]], option)

    ours = kraft_json("dump-log", str(written[role]))
    with_content = option == "--print-data-log"
    assert read_dump(finished.require_success()) == [as_kafka_prints_it(row, with_content=with_content) for row in ours]
    assert finished.errors == ""


@pytest.mark.rule("CONTROL-1", "CONTROL-2")
def test_segment_has_batches_of_every_kind_in_two_epochs(written: dict[str, Path]) -> None:
    rows = kraft_json("dump-log", str(written["leader"]))

    batches = [row for row in rows if "baseOffset" in row]
    epochs = [batch["partitionLeaderEpoch"] for batch in batches]
    assert len(set(epochs)) >= 2
    assert [batch["partitionLeaderEpoch"] for batch in batches if batch["isControl"]] == sorted(set(epochs))
    for epoch in (epochs[0], epochs[-1]):
        of_epoch = [batch for batch in batches if batch["partitionLeaderEpoch"] == epoch]
        assert of_epoch[0]["isControl"]
        assert {batch["compression"] for batch in of_epoch} == set(Compression)
        assert {batch["producerId"] == -1 for batch in of_epoch[1:]} == {True, False}
        assert sum(batch["count"] for batch in of_epoch[1:]) == 2 * _RECORDS * len(Compression)
    for change in (row for row in rows if row.get("type") == "LeaderChange"):
        assert change["voters"] == [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]
        assert {"voterId": change["leaderId"]} in change["grantingVoters"]
        assert len(change["grantingVoters"]) >= 2


@pytest.mark.rule("LOG-14")
def test_dump_tool_accepts_the_indexes_when_the_log_has_grown(kafka: Kafka, written: dict[str, Path]) -> None:
    checked = dump(kafka, indexes_of(written["leader"]))

    batches = {row["lastOffset"]: row for row in kraft_json("dump-log", str(written["leader"])) if "lastOffset" in row}
    entries = [line.split() for line in checked.require_success().splitlines() if not line.startswith("Dumping ")]
    positions = {int(entry[1]): int(entry[3]) for entry in entries if entry[0] == "offset:"}
    timestamps = {int(entry[3]): int(entry[1]) for entry in entries if entry[0] == "timestamp:"}
    assert len(positions) > 1
    assert len(timestamps) > 1
    assert positions == {offset: batches[offset]["position"] for offset in positions}
    assert timestamps == {offset: batches[offset]["maxTimestamp"] for offset in timestamps}
    assert checked.errors == ""


@pytest.mark.rule("LOG-14")
@pytest.mark.parametrize("option", ["--verify-index-only", "--index-sanity-check"])
def test_dump_tool_accepts_the_indexes_when_segments_have_rolled(kafka: Kafka, rolled: list[Path], option: str) -> None:
    indexes = [index for segment in rolled for index in indexes_of(segment)]

    checked = dump(kafka, indexes, option)

    assert len(rolled) == 3
    assert checked.require_success().count("Dumping ") == len(indexes)
    assert checked.errors == ""


def test_dump_tool_names_the_entry_when_an_index_is_damaged(
    kafka: Kafka, written: dict[str, Path], tmp_path: Path
) -> None:
    bent = Path(shutil.copy(written["leader"], tmp_path))
    for whole, index, entry in zip(
        indexes_of(written["leader"]), indexes_of(bent), (_OFFSET_ENTRY, _TIME_ENTRY), strict=True
    ):
        *others, (number, place) = entry.iter_unpack(whole.read_bytes())
        index.write_bytes(b"".join(entry.pack(*values) for values in [*others, (number - 1, place)]))

    offsets_checked, times_checked = (dump(kafka, [index], "--verify-index-only") for index in indexes_of(bent))

    assert "Mismatches in" in offsets_checked.errors
    assert "timestamp mismatch" in times_checked.errors
