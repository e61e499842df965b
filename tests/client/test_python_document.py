"""docs/python.md: its programs run, in their order and with the same log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft import Reader
from tests.node.harness.loop import NodesInProcess
from tests.node.harness.properties import voters_properties

DOCUMENT = (Path(__file__).parents[2] / "docs" / "python.md").read_text()
PROGRAMS = re.findall(r"```python\n(.*?)```", DOCUMENT, flags=re.DOTALL)


@pytest.fixture(scope="module")
def quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a quorum of one node listens."""
    with NodesInProcess(voters_properties(tmp_path_factory.mktemp("node"), voters=1)) as nodes:
        nodes.start().wait_for_leader()
        yield str(nodes.endpoint(1))


def test_programs_of_the_document_run(
    quorum: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("client.properties").write_text("security.protocol=PLAINTEXT\n")
    names: dict[str, object] = {}

    for program in PROGRAMS:
        exec(compile(program.replace("localhost:9092", quorum), "docs/python.md", "exec"), names)  # our own document

    with Reader(quorum) as reader:
        values = [record.value for record in reader]
    assert values == [b"2 nodes", *(b"%d" % number for number in range(1000)), b"-10", b"+10", *[b"paid"] * 100]
    assert capsys.readouterr().out.endswith(f"\n{len(values)}\n")
