"""The child process of a node that makes one snapshot: `python -m raft.compaction ROOT`, with the order on its input.

It writes nothing but the files of the snapshot, and takes no lock. The node uses the snapshot only if the process ends
with exit code 0, and a problem is the last line on its error output. The process ends when its input does: a node that
was killed leaves no process behind that writes into its directory.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

from raft.compaction.compactor import Compactor
from raft.compaction.request import MakingRequest
from raft.compaction.snapshot_maker import make_snapshot
from raft.errors import RaftError
from raft.storage.disk import DiskFiles

_NICENESS = 19

_REST = 3
"""How long the process rests after each piece of work, as a multiple of the time that the piece took: appends go on
meanwhile, and all nodes of a quorum may make a snapshot at the same time on a small machine. It does not rest if the
snapshot is urgent."""


def main(arguments: list[str]) -> int:
    """Make the snapshot; return the exit code."""
    os.nice(_NICENESS)
    request = MakingRequest.from_line(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        compactor = Compactor(now_ms=request.now_ms, delete_retention_ms=request.delete_retention_ms)
        begun_s = time.monotonic()
        for _ in make_snapshot(DiskFiles(Path(arguments[0])), request.directory, request.order, compactor):
            if not request.order.is_urgent:
                time.sleep(_REST * (time.monotonic() - begun_s))
            begun_s = time.monotonic()
    except (RaftError, MemoryError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _end_with_input() -> None:
    sys.stdin.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
