"""An application with a quorum beside it, which ends in the way that it is told to.

python -m tests.kraft_spark.application FOLDER exit|wait|stop

It says one line for every quorum that it has started: the processes of its voters.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Any

from kraft_spark import QuorumService
from tests.spark.session import make_session


class RunningSession:
    """What the service asks of a session, of an application that is never stopped; a JVM would take half a minute."""

    _jvm = None

    @property
    def sparkContext(self) -> Any:  # noqa: N802 - Spark's name
        return self

    @property
    def _jsc(self) -> Any:
        return self

    def sc(self) -> Any:
        return self

    def isStopped(self) -> bool:  # noqa: N802 - Spark's name
        return False


def start_quorum(session: Any, folder: Path, voters: int) -> None:
    """Start a quorum and say who its voters are."""
    quorum = QuorumService.start(session, voters=voters, data_dir=folder / f"quorum-of-{voters}")
    print(*quorum.pids.values(), flush=True)


def main() -> None:
    """Run it."""
    folder, ending = Path(sys.argv[1]), sys.argv[2]
    if ending == "stop":
        session = make_session(folder)
        start_quorum(session, folder, voters=2)
        session.stop()
        # The program goes on, with another session and another quorum.
        start_quorum(make_session(folder), folder, voters=1)
    else:
        start_quorum(RunningSession(), folder, voters=2)
    if ending != "exit":
        signal.pause()


if __name__ == "__main__":
    main()
