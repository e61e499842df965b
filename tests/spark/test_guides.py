"""The snippets of the guides run, those of one guide in their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from raft.local import LocalQuorum
from tests.processes.commands import ROOT
from tests.spark.frames import Frames

pytestmark = pytest.mark.spark

GUIDES = ("source", "sink", "exactly-once", "deployment", "migration")


def snippets_of(guide: str) -> list[str]:
    """The Python snippets of a guide."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs" / f"{guide}.md").read_text(), re.DOTALL)


@pytest.fixture
def names(lone_frames: Frames, quorum: LocalQuorum, tmp_path: Path) -> dict[str, Any]:
    """What the snippets start with; the log has rows."""
    lone_frames.write(lone_frames.values(f"row {number}" for number in range(20)))
    return {
        "spark": lone_frames.spark,
        "servers": lone_frames.servers,
        "other_servers": quorum.bootstrap_servers,
        "folder": tmp_path,
    }


@pytest.mark.parametrize("guide", GUIDES)
def test_snippets_of_guide_run(guide: str, names: dict[str, Any]) -> None:
    snippets = snippets_of(guide)

    assert snippets
    for snippet in snippets:
        exec(compile(snippet, f"docs/{guide}.md", "exec"), names)
    _check(guide, names)


def _check(guide: str, names: dict[str, Any]) -> None:
    """Check what the snippets of a guide have left."""
    frames = Frames(names["spark"], names["servers"])
    match guide:
        case "sink":
            assert {"created"} <= {*frames.log_values()}
            assert names["query"].exception() is None
        case "migration":
            assert names["changes"].columns == ["key", "value", "offset", "timestamp"]
        case "source":
            assert names["query"].exception() is None
        case _:
            pass
