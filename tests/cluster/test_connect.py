"""Spark Connect: the connector is installed where the server runs, and clients need pyspark only."""

from __future__ import annotations

import json
from typing import Any

import pytest

from raft.local import LocalQuorum
from tests.cluster.connect_client import LARGE_ROWS
from tests.cluster.connect_server import ConnectServer, run_client
from tests.processes.commands import ROOT

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the client has printed."""
    folder = tmp_path_factory.mktemp("connect")
    with (
        LocalQuorum.start(folder / "quorum", voters=1) as quorum,
        ConnectServer(folder, quorum.client_config) as server,
    ):
        ended = run_client(server.url, quorum.bootstrap_servers, str(folder / "checkpoint"), str(ROOT))
    assert ended.returncode == 0, ended.stderr
    result: dict[str, Any] = json.loads(ended.stdout)
    return result


def test_client_without_the_connector_reads_what_it_has_written(seen: dict[str, Any]) -> None:
    assert not seen["has_connector"]
    assert seen["small"] == ["one", "two"]


def test_write_in_parts_is_committed(seen: dict[str, Any]) -> None:
    assert seen["rows"] == 2 + LARGE_ROWS


def test_stream_of_a_client_copies_rows(seen: dict[str, Any]) -> None:
    assert seen["copied"] == ["2nd one", "2nd two"]
    assert seen["input"] == 2 + LARGE_ROWS


def test_wrong_option_is_named_in_the_first_line_to_the_client(seen: dict[str, Any]) -> None:
    assert "unknown option startingoffset: did you mean startingOffsets?" in seen["refused"][0]


def test_error_of_a_task_is_named_in_the_first_lines_to_the_client(seen: dict[str, Any]) -> None:
    assert any("a header, or the key of one, is null" in line for line in seen["failed"][:3])


def test_quorum_beside_the_driver_needs_a_classic_session(seen: dict[str, Any]) -> None:
    assert seen["quorum"] == "QuorumService needs a classic SparkSession, whose driver is this process"
