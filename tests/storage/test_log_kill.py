"""A real process on a real disk, killed in the middle of its work."""

import subprocess
import sys
from pathlib import Path

import pytest

from raft.storage.disk import DiskFiles
from tests.storage.logs import batch, check_indexes, content, open_log

APPEND_FOR_EVER = """
import sys
from raft.storage.disk import DiskFiles
from tests.storage.logs import batch, open_log

log = open_log(DiskFiles(sys.argv[1]), segment_bytes=20_000)
while True:
    for _ in range(7):
        log.append([batch(log.end_offset)])
    print(log.flush(), flush=True)
"""


@pytest.mark.parametrize("flushes", [1, 40, 150])
def test_flushed_batches_are_there_when_the_process_was_killed(tmp_path: Path, flushes: int) -> None:
    command = [sys.executable, "-c", APPEND_FOR_EVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as process:
        assert process.stdout is not None
        promised = [int(process.stdout.readline()) for _ in range(flushes)][-1]
        process.kill()
        promised = max([promised, *(int(line) for line in process.stdout.read().splitlines())])
    files = DiskFiles(tmp_path)
    check_indexes(files)

    log = open_log(files, segment_bytes=20_000)

    assert log.end_offset >= promised >= 7 * flushes
    assert content(log) == [batch(offset) for offset in range(log.end_offset)]
    log.close()
