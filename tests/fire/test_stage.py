"""The quorums of a run serve clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fire.ends import watched_end
from tests.fire.stage import quorum_of_stage
from tests.node.harness.waiting import eventually


@pytest.mark.parametrize("is_secured", [False, True], ids=["open", "secured"])
def test_end_of_a_quorum_is_read_again_and_again(tmp_path: Path, *, is_secured: bool) -> None:
    with (
        quorum_of_stage(tmp_path / "source", is_secured=is_secured) as quorum,
        watched_end(quorum, name="source", seed=1) as history,
    ):
        eventually(lambda: sum(read.is_latest for read in history.reads) > 1, "two reads of the end", within_s=60)

    assert not history.complaints
