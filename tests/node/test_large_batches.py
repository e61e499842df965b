"""Batches that were committed under larger limits are read by followers, clients and Spark under smaller ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from datasource.options import ReadOptions
from datasource.responses import read_response
from raft.records.batch import build_batch, read_records
from raft.records.batches import read_batches
from raft.records.record import Record
from raft.storage.disk import DiskFiles
from raft.storage.election_state import ElectionStateFile
from raft.types import ElectionState, Epoch, Offset
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties
from tests.node.harness.waiting import eventually

LIMITS = {
    "message__max__bytes": "10000",
    "socket__request__max__bytes": "75536",
    "queued__max__request__bytes": "10000",
    "controller__quorum__fetch__max__bytes": "10000",
}
"""The limits of the nodes. The size of a response has no setting."""

VALUE = bytes(3 << 20)


@pytest.mark.rule("FETCH-6", "CLIENT-2")
def test_batch_larger_than_all_limits_reaches_followers_clients_and_spark(tmp_path: Path) -> None:
    batch = build_batch([Record(value=VALUE, timestamp_ms=1)], epoch=Epoch(1))
    configurations = voters_properties(tmp_path, voters=2, **LIMITS)
    log = tmp_path / "node-1" / "__cluster_metadata-0" / f"{0:020d}.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(batch)
    ElectionStateFile(DiskFiles(log.parent), "quorum-state").write(ElectionState(epoch=Epoch(1)))

    with NodesInProcess(configurations) as nodes:
        leader = nodes.start().wait_for_leader()
        follower = nodes.running[2]
        assert leader == 1, "only one has the log"
        eventually(lambda: (follower.core.high_watermark or 0) >= 1, "the follower has it")
        with nodes.client() as client:
            fetched = client.fetch(Offset(0), max_bytes=1, max_wait_ms=0)

    (read,) = list(read_batches(fetched.records))
    options = ReadOptions.of({"kraft.bootstrap.servers": "localhost:1"})
    (rows,) = read_response(options, fetched, Offset(0), Offset(1))
    assert read.payload == batch
    assert [record.value == VALUE for record in read_records(read.payload)] == [True]
    assert rows.column("value")[0].as_py() == VALUE
