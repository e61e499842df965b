"""The voters of a local quorum serve their metrics on ports of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.errors import ConfigError
from raft.local import LocalQuorum
from tests.local.conftest import QUICK
from tests.metrics.http_client import ask
from tests.processes.kraft import start_kraft


def test_voters_serve_their_metrics_where_the_quorum_says(tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, voters=2, settings=QUICK, metrics=True) as quorum:
        found = {
            node_id: ask(endpoint.port, "/readyz").fields() for node_id, endpoint in quorum.metrics_endpoints.items()
        }

    assert {node_id: fields["node"] for node_id, fields in found.items()} == {1: 1, 2: 2}


def test_voters_serve_no_metrics_by_default(tmp_path: Path) -> None:
    with LocalQuorum.start(tmp_path, voters=1, settings=QUICK) as quorum:
        assert quorum.metrics_endpoints == {}


def test_one_listener_for_all_voters_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        LocalQuorum.start(tmp_path, voters=1, settings={"metrics.listeners": "HTTP://localhost:9404"})

    assert str(refused.value) == (
        "metrics.listeners=HTTP://localhost:9404: expected metrics=True instead, which chooses a port for each voter"
    )


def test_command_prints_where_the_voters_serve_metrics(tmp_path: Path) -> None:
    with start_kraft("dev", "--voters", "1", "--metrics", TMPDIR=str(tmp_path)) as dev:
        servers, _, url = (dev.line() for _ in range(3))
        port = int(url.removeprefix("http://127.0.0.1:").removesuffix("/metrics"))

        assert servers.startswith("127.0.0.1:")
        assert ask(port, "/metrics").status == 200
