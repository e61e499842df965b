"""`kraft serve` with a planted bug, which a power failure must find: nothing is flushed.

python -m tests.disk_faults.planted serve --config node.properties
"""

from __future__ import annotations

import os
import sys

from raft.cli.main import main
from raft.storage import disk

SERVE_WITHOUT_FLUSHES = (sys.executable, "-m", "tests.disk_faults.planted", "serve")
"""The command that starts such a node."""


def _flush_nothing(fd: object) -> None:
    """Say that the bytes are on the disk."""


if __name__ == "__main__":
    disk._sync_data = _flush_nothing
    os.fsync = _flush_nothing
    main()
