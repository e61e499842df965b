"""The quorums of a run serve clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fire.load import LONGEST_END_S, end_reader
from tests.fire.stage import quorum_of_stage
from tests.node.harness.waiting import eventually
from tests.workload.history import History
from tests.workload.worker import running, stop


@pytest.mark.parametrize("is_secured", [False, True], ids=["open", "secured"])
def test_end_of_a_quorum_is_read_again_and_again(tmp_path: Path, *, is_secured: bool) -> None:
    history = History()
    with quorum_of_stage(tmp_path / "source", is_secured=is_secured) as quorum:
        readers = [end_reader(quorum, history, name="source", seed=1)]
        with running(readers, longest_end_s=LONGEST_END_S):
            eventually(lambda: sum(read.is_latest for read in history.reads) > 1, "two reads of the end", within_s=60)
            stop(readers, within_s=LONGEST_END_S)

    assert not history.complaints
