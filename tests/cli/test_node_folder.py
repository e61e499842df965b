"""Commands about a node take the folder of a voter of a local quorum: its properties file beside its log directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from raft.cli.node_folder import log_directory
from raft.local import LocalQuorum
from tests.cli.in_process import KraftInProcess
from tests.local.conftest import QUICK


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a voter that is stopped."""
    data_dir = tmp_path_factory.mktemp("quorum")
    LocalQuorum.start(data_dir, voters=1, settings=QUICK).stop()
    return data_dir / "node-1"


def test_check_takes_the_folder_of_a_node(here: KraftInProcess, folder: Path) -> None:
    of_folder, of_log = here("check", str(folder)), here("check", str(folder / "log"))

    assert (of_folder.exit_code, of_folder.errors) == (0, "")
    assert of_folder.output == of_log.output
    assert "SOUND" in of_folder.output


def test_status_takes_the_folder_of_a_node(here: KraftInProcess, folder: Path) -> None:
    of_folder = here("node", "status", str(folder))
    of_file = here("node", "status", str(folder / "node.properties"))

    assert (of_folder.exit_code, of_file.exit_code) == (3, 3)
    assert of_folder.output.splitlines()[0] == of_file.output.splitlines()[0]
    assert str(folder / "log") in of_folder.output


def test_folder_without_properties_is_refused(here: KraftInProcess, tmp_path: Path) -> None:
    done = here("node", "status", str(tmp_path))

    assert (done.exit_code, done.output) == (1, "")
    assert done.errors == (
        f"kraft: {tmp_path} has no node.properties: expected the properties file of a node, or the folder with it\n"
    )


def test_folder_that_is_a_log_directory_itself_is_taken_as_one(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    for name in ("meta.properties", "node.properties"):
        (tmp_path / name).touch()

    assert log_directory(tmp_path) == tmp_path
