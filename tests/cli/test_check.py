"""`kraft check`: names damage, and how to take the log from the other nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from raft.records.batch import build_batch
from raft.records.record import Record
from tests.cli.in_process import KraftInProcess
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import TOPIC, voters_properties
from tests.node.harness.waiting import eventually

VALUE = b"the value of a record"


def batch_of(at: int) -> bytes:
    return build_batch([Record(key=b"key %d" % at, value=VALUE, timestamp_ms=at)])


@pytest.fixture
def configurations(tmp_path: Path) -> dict[int, dict[str, str]]:
    """Three nodes that have stopped cleanly, with ten records."""
    found = voters_properties(tmp_path, voters=3)
    with NodesInProcess(found) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            for at in range(10):
                client.append(batch_of(at))
    return found


def folder_of(configuration: dict[str, str]) -> Path:
    return Path(configuration["log.dirs"]) / f"{TOPIC}-0"


def damage(configuration: dict[str, str]) -> Path:
    segment = folder_of(configuration) / f"{0:020d}.log"
    data = bytearray(segment.read_bytes())
    data[data.index(VALUE)] ^= 1
    segment.write_bytes(data)
    return segment


def test_sound_directory_has_exit_code_0(here: KraftInProcess, configurations: dict[int, dict[str, str]]) -> None:
    done = here("check", configurations[1]["log.dirs"])

    assert (done.exit_code, done.errors) == (0, "")
    assert re.search(f"SOUND +{TOPIC}-0/{0:020d}.log: offsets 0 to 1[01], [0-9]+ bytes", done.output)


@pytest.mark.rule("LOG-13", "LOG-26")
def test_log_of_a_damaged_node_is_taken_from_the_others_as_the_command_says(
    here: KraftInProcess, configurations: dict[int, dict[str, str]]
) -> None:
    segment = damage(configurations[1])

    done = here("check", configurations[1]["log.dirs"], "--json")
    repaired = here("check", configurations[1]["log.dirs"], "--repair")

    assert (done.exit_code, repaired.exit_code) == (1, 1)
    (found,) = [row for row in map(json.loads, done.output.splitlines()) if row["state"] == "lost"]
    assert found["file"] == f"{TOPIC}-0/{segment.name}"
    assert found["endOffset"] == 1
    assert "move all files of the partition's folder away but quorum-state" in done.errors.replace("\n", " ")
    assert f"{configurations[1]['log.dirs']} is damaged: 1 of" in repaired.errors
    for file in folder_of(configurations[1]).iterdir():
        if file.name != "quorum-state":
            file.unlink()
    with NodesInProcess(configurations) as nodes:
        nodes.start().wait_for_leader()
        with nodes.client() as client:
            offset = client.append(batch_of(11)).base_offset
        eventually(lambda: nodes.running[1].core.log.end_offset > offset, "node 1 has the whole log again")
    assert here("check", configurations[1]["log.dirs"]).exit_code == 0


def test_folder_of_something_else_is_refused(here: KraftInProcess, tmp_path: Path) -> None:
    done = here("check", str(tmp_path))

    assert (done.exit_code, done.output) == (1, "")
    assert f"{tmp_path} is no log directory of a node, expected one with meta.properties" in done.errors
