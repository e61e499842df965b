"""The child process that makes a snapshot: how it ends, and that none is left behind."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from errno import ENXIO
from pathlib import Path
from time import time_ns

import psutil
import pytest

from raft.compaction import SnapshotOrder
from raft.compaction.request import MakingRequest
from raft.node import snapshot_process
from raft.node.snapshot_process import SnapshotProcess
from raft.types import Epoch, EpochStart, Offset, OffsetAndEpoch
from tests.hang import HANG_S
from tests.node.harness.waiting import eventually
from tests.processes.commands import ROOT
from tests.runtime.one_voter import ManualScheduler

FOLDER = "log-0"
END = OffsetAndEpoch(offset=Offset(5), epoch=Epoch(1))
ORDER = SnapshotOrder(
    base=None,
    end=END,
    segments=(),
    epochs=(EpochStart(epoch=Epoch(1), start_offset=Offset(0)),),
    keeps_records=False,
)


class Pipe:
    """A pipe in the place of the file that a maker reads first: the maker waits there.

    Args:
        path: of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._end: int | None = None
        os.mkfifo(path)

    def is_read(self) -> bool:
        """Whether a process has opened it. The test then keeps it open, because its end would let the maker go on."""
        if self._end is None:
            try:
                self._end = os.open(self.path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError as error:
                if error.errno != ENXIO:
                    raise
        return self._end is not None

    def close(self) -> None:
        """Remove it."""
        if self._end is not None:
            os.close(self._end)
            self._end = None
        self.path.unlink(missing_ok=True)


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Pipe]:
    (tmp_path / FOLDER).mkdir()
    pipe = Pipe(tmp_path / FOLDER / f"{END.offset:020d}.snapshot")
    yield pipe
    pipe.close()


def makers_of(root: Path) -> list[psutil.Process]:
    """Return the child processes of this process that make a snapshot in a directory."""
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if str(root) in child.cmdline():
                found.append(child)
    return found


async def until(look: Callable[[], bool], what: str) -> None:
    """Wait for a condition; the event loop goes on meanwhile."""
    async with asyncio.timeout(HANG_S):
        while not look():
            await asyncio.sleep(0.01)
    assert look(), what


class Maker:
    """A `SnapshotProcess`, and what it has reported.

    Args:
        root: the log directory.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reported: list[str | None] = []
        self.process = SnapshotProcess(root, FOLDER, ManualScheduler(), delete_retention_ms=0)

    def make(self) -> None:
        """Order a snapshot."""
        self.process.make(ORDER, self.reported.append)

    async def make_to_the_end(self) -> str | None:
        """Order a snapshot, and return what is reported of it."""
        self.make()
        await until(lambda: bool(self.reported), "the process has ended")
        return self.reported[0]


def test_problem_is_the_last_line_of_a_process_that_fails(tmp_path: Path) -> None:
    (tmp_path / FOLDER).mkdir()

    problem = asyncio.run(Maker(tmp_path).make_to_the_end())

    assert problem == f"{tmp_path / FOLDER} has no producer snapshot at offset 5"


@pytest.mark.parametrize(
    ("program", "problem"),
    [
        pytest.param("import sys; sys.exit(3)", "exit code 3", id="without a word"),
        pytest.param("import sys; print('no', 'why', sep='\\n', file=sys.stderr); sys.exit(3)", "why", id="with lines"),
        pytest.param("import os, sys; os.close(0); sys.exit(4)", "exit code 4", id="without reading the order"),
        pytest.param("import sys; print('careless', file=sys.stderr)", None, id="a warning is no problem"),
    ],
)
def test_exit_code_says_whether_there_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, problem: str | None
) -> None:
    monkeypatch.setattr(snapshot_process, "_COMMAND", (sys.executable, "-c", program))

    assert asyncio.run(Maker(tmp_path).make_to_the_end()) == problem


def test_program_that_cannot_be_started_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    missing = str(tmp_path / "missing")
    monkeypatch.setattr(snapshot_process, "_COMMAND", (missing,))

    assert asyncio.run(Maker(tmp_path).make_to_the_end()) == f"cannot start {missing}: No such file or directory"


def test_process_that_is_killed_in_the_middle_is_a_problem_and_the_next_one_runs(tmp_path: Path, pipe: Pipe) -> None:
    async def run() -> None:
        maker = Maker(tmp_path)
        maker.make()
        await until(pipe.is_read, "it reads")
        (child,) = makers_of(tmp_path)
        child.kill()
        await until(lambda: bool(maker.reported), "its end is reported")
        assert maker.reported == ["exit code -9"]

        pipe.close()
        again = Maker(tmp_path)
        assert await again.make_to_the_end() == f"{tmp_path / FOLDER} has no producer snapshot at offset 5"
        await maker.process.close()

    asyncio.run(run())

    assert makers_of(tmp_path) == []
    assert list((tmp_path / FOLDER).glob("*.checkpoint")) == []


def test_close_ends_the_process_and_nothing_is_reported(tmp_path: Path, pipe: Pipe) -> None:
    async def run() -> Maker:
        maker = Maker(tmp_path)
        maker.make()
        await until(pipe.is_read, "it reads")
        assert len(makers_of(tmp_path)) == 1
        await maker.process.close()
        return maker

    maker = asyncio.run(run())

    assert makers_of(tmp_path) == []
    assert maker.reported == []


def test_close_right_after_the_order_leaves_no_process(tmp_path: Path, pipe: Pipe) -> None:
    async def run(yields: int) -> None:
        maker = Maker(tmp_path)
        maker.make()
        for _ in range(yields):
            await asyncio.sleep(0)
        await maker.process.close()
        assert maker.reported == []

    for yields in range(20):
        asyncio.run(run(yields))
        assert makers_of(tmp_path) == [], yields


def test_close_without_a_process_does_nothing(tmp_path: Path) -> None:
    asyncio.run(Maker(tmp_path).process.close())


def test_process_ends_when_its_node_is_killed(tmp_path: Path, pipe: Pipe) -> None:
    request = MakingRequest(directory=FOLDER, order=ORDER, now_ms=time_ns() // 1_000_000, delete_retention_ms=0)
    # Stands for a node: it starts the maker as a node does, prints its id, and waits.
    node = (
        "import subprocess, sys, time; "
        "child = subprocess.Popen([sys.executable, '-m', 'raft.compaction', sys.argv[1]], stdin=subprocess.PIPE); "
        "child.stdin.write(sys.argv[2].encode() + b'\\n'); child.stdin.flush(); "
        "print(child.pid, flush=True); time.sleep(1000)"
    )
    command = [sys.executable, "-c", node, str(tmp_path), request.to_line()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as parent:
        assert parent.stdout is not None
        try:
            maker = psutil.Process(json.loads(parent.stdout.readline()))
            eventually(pipe.is_read, "it reads", within_s=HANG_S)
            assert maker.is_running()
        finally:
            parent.kill()

    maker.wait(timeout=HANG_S)
    assert not maker.is_running()
