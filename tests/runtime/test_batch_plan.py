"""A batch is planned in pieces, and a snapshot may replace the log between two of them (CLIENT-15)."""

from __future__ import annotations

import pytest

from raft.runtime.requests.batch_plan import plan_batch
from raft.storage import data_records
from raft.types import Epoch, Offset, OffsetAndEpoch
from raft.wire.messages.offset_for_leader_epoch import BatchPlan, BatchPlanRequest
from tests.memory_files.files import MemoryFiles
from tests.storage.logs import empty_snapshot, open_log
from tests.storage.transactional import PRODUCER, append_all, commit, data


@pytest.mark.rule("CLIENT-15")
def test_plan_has_bounds_only_when_a_snapshot_replaces_the_log_while_it_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data_records, "PIECE_HEADERS", 1)
    log = open_log(MemoryFiles())
    append_all(log, [data(PRODUCER, 0), data(PRODUCER, 1), commit(PRODUCER, 2)])
    pieces = plan_batch(log, BatchPlanRequest(start_offset=0, max_records=9, max_bytes=9), Offset(3))

    next(pieces)
    log.restart_at(empty_snapshot(OffsetAndEpoch(offset=Offset(20), epoch=Epoch(2))))
    with pytest.raises(StopIteration) as end:
        next(pieces)

    assert end.value.value == BatchPlan(log_start_offset=20, last_stable_offset=3)
