"""A quorum whose metrics the tests of this folder scrape."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.metrics import application
from tests.metrics.scraped import with_metrics
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.pair import PATIENT
from tests.node.harness.properties import voters_properties


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodesInProcess]:
    """Three nodes with a leader, of which every scrape is new."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(application, "FRESH_S", 0.0)
        configurations = voters_properties(tmp_path_factory.mktemp("measured"), voters=3, **PATIENT)
        with NodesInProcess(with_metrics(configurations)) as nodes:
            nodes.start().wait_for_leader()
            yield nodes
