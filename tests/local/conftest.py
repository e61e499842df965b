"""A local quorum for all tests of a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.local import LocalQuorum

QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "700",
    "controller.quorum.election.backoff.max.ms": "100",
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the quorum's logs."""
    return tmp_path_factory.mktemp("quorum")


@pytest.fixture(scope="module")
def quorum(data_dir: Path) -> Iterator[LocalQuorum]:
    """Three voters."""
    with LocalQuorum.start(data_dir, settings=QUICK) as quorum:
        yield quorum
