from pathlib import Path

import pytest

from raft.storage.disk import DiskFiles
from raft.storage.files import Files
from tests.memory_files.files import MemoryFiles


@pytest.fixture(params=["disk", "memory"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    """Both ways to keep files."""
    return DiskFiles(tmp_path) if request.param == "disk" else MemoryFiles()
