"""kafka-dump-log on the snapshots of our nodes, and on segments whose beginning a snapshot has replaced."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from raft.records.compression import Compression
from raft.records.record import Record
from tests.java.compacted_quorum import CompactedQuorum
from tests.java.dumped_log import Row, as_kafka_prints_it, read_dump
from tests.java.kafka import Kafka, MainClass
from tests.java.librdkafka import produce
from tests.processes.finished import Finished
from tests.processes.kraft import kraft_json

pytestmark = pytest.mark.java

_POLICIES = ["compact", "delete"]
_GAPS = "Non-consecutive offsets in "
"""What the tool reports of any compacted log, and of any segment but the first."""


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a leader that has ended.

    Fields:
        policy: its cleanup.policy.
        snapshot: the one at which its log begins.
        segment: the first one of its log.
        written: all records that were appended, by offset.
    """

    policy: str
    snapshot: Path
    segment: Path
    written: dict[int, Record]

    @property
    def end(self) -> int:
        """Where the snapshot ends."""
        return int(self.snapshot.name[:20])


@pytest.fixture(scope="module", params=_POLICIES)
def files(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Files:
    policy = request.param
    with CompactedQuorum(tmp_path_factory.mktemp(policy), {"cleanup.policy": policy}).start() as quorum:
        write_of_every_kind(quorum)
        with quorum.client() as client:
            quorum.write_until_cut(client)
            # Records behind the snapshot.
            quorum.write_rounds(client, 2)
            log_start = quorum.wait_until_quiet()
        leader = quorum.leader()
        quorum.stop()
    (snapshot,) = leader.partition.glob(f"{log_start:020d}-*.checkpoint")
    return Files(policy, snapshot, leader.segments()[0], {int(offset): each for offset, each in quorum.written.items()})


def write_of_every_kind(quorum: CompactedQuorum) -> None:
    """Write with idempotent producers and each codec."""
    for codec in Compression:
        records = [
            Record(key=b"%s of the codec %d" % (codec.name.encode(), at), value=b"value, " * 20, timestamp_ms=now_ms())
            for at in range(20)
        ]
        settings = {"enable.idempotence": True, "compression.type": codec.name.lower()}
        for record in produce(quorum.bootstrap_servers, records, settings):
            quorum.written[record.offset] = record


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def dump(kafka: Kafka, file: Path, *options: str) -> Finished:
    """Run kafka-dump-log; it may report gaps between offsets, and nothing else."""
    finished = kafka.run(MainClass.DUMP_LOG_SEGMENTS, "--files", str(file), *options)
    finished.require_success()
    first, *gaps = finished.errors.strip().splitlines() or [""]
    assert first in ("", f"{_GAPS}{file}")
    assert all(" is followed by " in gap for gap in gaps), gaps
    return finished


def rows_of(finished: Finished) -> list[Row]:
    return read_dump(finished.output.rstrip("\n") + "\n")


@pytest.mark.rule("SNAPSHOT-2", "LOG-16")
@pytest.mark.parametrize("option", ["--print-data-log", "--deep-iteration"])
@pytest.mark.parametrize("name", ["snapshot", "segment"])
def test_dump_tool_prints_what_kraft_prints(kafka: Kafka, files: Files, name: str, option: str) -> None:
    file = getattr(files, name)

    found = rows_of(dump(kafka, file, option))

    ours = kraft_json("dump-log", str(file))
    with_content = option == "--print-data-log"
    assert found == [as_kafka_prints_it(row, with_content=with_content) for row in ours]


@pytest.mark.rule("SNAPSHOT-2")
def test_dump_tool_finds_header_and_footer_and_the_original_offsets_in_a_snapshot(kafka: Kafka, files: Files) -> None:
    finished = dump(kafka, files.snapshot, "--print-data-log")

    records = [row for row in rows_of(finished) if "offset" in row]
    assert (
        finished.output.splitlines()[1] == f"Snapshot end offset: {files.end}, epoch: {int(files.snapshot.name[21:31])}"
    )
    assert records[0]["type"] == "SnapshotHeader"
    assert records[-1]["type"] == "SnapshotFooter"
    found = {
        row["offset"]: (row.get("key"), row.get("payload"), row["timestamp"]) for row in records if "type" not in row
    }
    newest = {record.key: offset for offset, record in sorted(files.written.items()) if offset < files.end}
    kept = sorted(newest.values()) if files.policy == "compact" else []
    assert found == {offset: shown(files.written[offset]) for offset in kept}


def shown(record: Record) -> tuple[str | None, str | None, int]:
    """Return what the tool shows of a record."""
    return _text(record.key), _text(record.value), record.timestamp_ms


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()


@pytest.mark.rule("SNAPSHOT-3")
def test_segment_begins_where_the_snapshot_ends(kafka: Kafka, files: Files) -> None:
    finished = dump(kafka, files.segment, "--print-data-log")

    records = [row for row in rows_of(finished) if "offset" in row]
    assert finished.output.splitlines()[1] == f"Log starting offset: {files.end}"
    assert {row["offset"]: shown(files.written[row["offset"]]) for row in records} == {
        row["offset"]: (row.get("key"), row.get("payload"), row["timestamp"]) for row in records
    }
    assert [row["offset"] for row in records] == [offset for offset in sorted(files.written) if offset >= files.end]


@pytest.mark.parametrize("name", ["index", "timeindex"])
def test_dump_tool_accepts_the_indexes_of_a_log_that_was_cut(kafka: Kafka, files: Files, name: str) -> None:
    finished = kafka.run(MainClass.DUMP_LOG_SEGMENTS, "--files", str(files.segment.with_suffix(f".{name}")))

    assert finished.require_success().startswith("Dumping ")
    assert finished.errors == ""
