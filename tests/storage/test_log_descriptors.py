"""The number of files that a log keeps open: for a thousand segments as many as for one."""

import resource
from collections.abc import Iterator
from pathlib import Path

import pytest

from raft.storage.disk import DiskFiles
from raft.types import Offset
from tests.storage.logs import batch, batches, content, open_log

SMALL = batch(0).header.size_bytes
SEGMENTS = 40
OPEN_FILES_ALLOWED = 16
NO_TAIL = 0


@pytest.fixture
def few_descriptors() -> Iterator[None]:
    """Let the process open only a few more files than it has open now."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = {int(entry.name) for entry in Path("/dev/fd").iterdir()}
    # The limit is on the number of a descriptor, and those that are taken need not be the lowest ones.
    free = [number for number in range(len(taken) + OPEN_FILES_ALLOWED) if number not in taken]
    resource.setrlimit(resource.RLIMIT_NOFILE, (free[OPEN_FILES_ALLOWED - 1] + 1, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("few_descriptors")
def test_log_works_when_it_has_more_segments_than_files_may_be_open(
    tmp_path: Path,
) -> None:
    written = batches([1] * SEGMENTS)
    log = open_log(DiskFiles(tmp_path), segment_bytes=SMALL, tail_bytes=NO_TAIL)
    log.append(written)
    assert content(log) == written
    log.close()

    log = open_log(DiskFiles(tmp_path), segment_bytes=SMALL, tail_bytes=NO_TAIL)
    assert content(log) == written
    log.truncate(Offset(SEGMENTS - 5))
    log.append(written[-5:])
    log.flush()

    assert content(log) == written
    log.close()


def test_log_continues_in_the_segment_before_when_the_torn_one_is_removed(tmp_path: Path) -> None:
    written = batches([1] * SEGMENTS)
    log = open_log(DiskFiles(tmp_path), segment_bytes=2 * SMALL)
    log.append(written[: SEGMENTS - 1])
    log.flush()
    torn = tmp_path / "log-0" / f"{SEGMENTS - 2:020d}.log"
    torn.write_bytes(b"torn")

    log = open_log(DiskFiles(tmp_path), segment_bytes=3 * SMALL)
    log.append(written[SEGMENTS - 2 :])

    assert content(log) == written
    log.close()
