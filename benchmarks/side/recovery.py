"""The time from a fault of the leader until the client of this project has its next append acknowledged.

python -P -m benchmarks.side.recovery SERVERS

`put-after-signal` of the load generator measures the same of etcd.
"""

from __future__ import annotations

import os
import sys
import time

from benchmarks.side.appends import appends_by_client, client_of
from benchmarks.side.calls import answer_calls

_APPENDS_BEFORE = 20


def main() -> None:
    """Respond to calls until standard input ends."""
    (servers,) = sys.argv[1:]

    def recover(pid: int, signal: int) -> dict[str, float]:
        """Append some records, send a signal to a process, and append once more; the last append counts."""
        with client_of(servers) as client:
            append = appends_by_client(client)
            for _ in range(_APPENDS_BEFORE):
                append(b"before")
            started = time.perf_counter()
            os.kill(pid, signal)
            append(b"after")
            return {"ms": (time.perf_counter() - started) * 1000}

    answer_calls({"recover": recover})


if __name__ == "__main__":
    main()
