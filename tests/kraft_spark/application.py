"""An application with a quorum beside it.

python -m tests.kraft_spark.application FOLDER stay|stop

It prints one line for every quorum that it has started: the processes of its voters. With `stop`, it stops its session
and continues with another. At SIGUSR1 the program ends.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from kraft_spark import QuorumService
from kraft_spark.running_quorum import RunningQuorum
from raft.local import LocalQuorum
from tests.spark.session import make_session


def say(quorum: QuorumService) -> None:
    """Print the processes of its voters."""
    print(*quorum.pids.values(), flush=True)


def end(_number: int, _frame: object) -> None:
    """End the program, wherever it is."""
    sys.exit(0)


def main() -> None:
    """Run it."""
    folder, what_to_do = Path(sys.argv[1]), sys.argv[2]
    signal.signal(signal.SIGUSR1, end)
    if what_to_do == "stop":
        session = make_session(folder)
        say(QuorumService.start(session, voters=2, data_dir=folder / "first"))
        session.stop()
        say(QuorumService.start(make_session(folder), voters=1, data_dir=folder / "second"))
    else:
        # An application that does not end, without a JVM, whose start would take half a minute.
        quorum = LocalQuorum.start(folder / "first", voters=2)
        say(QuorumService(RunningQuorum(quorum, is_over=lambda: False)))
    signal.pause()


if __name__ == "__main__":
    main()
