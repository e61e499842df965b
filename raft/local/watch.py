"""The watch of a local quorum: it restarts voters that have exited."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable

from raft.errors import ConfigError
from raft.local.restarts import Restarts
from raft.local.voter import VoterProcess

_logger = logging.getLogger(__name__)

_LOOK_S = 0.1


class Watch:
    """A thread that restarts voters, from `start` to `stop`.

    Args:
        voters: already started.
    """

    def __init__(self, voters: Iterable[VoterProcess]) -> None:
        self._voters = tuple(voters)
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="voters' watch", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Return when no voter will be restarted any more. The thread need not run."""
        self._is_stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        restarts = {voter: Restarts(time.monotonic()) for voter in self._voters}
        while not self._is_stopping.wait(_LOOK_S):
            for voter in self._voters:
                if voter.pid is None and restarts[voter].is_due(time.monotonic()):
                    restarts[voter].started(time.monotonic())
                    _start_again(voter)


def _start_again(voter: VoterProcess) -> None:
    _logger.warning(
        "voter exited and is restarted: %s; node_id=%s log=%s", voter.ending(), voter.node_id, voter.log_file
    )
    try:
        voter.start()
    except ConfigError as error:
        # The machine may lack memory or disk space now and have it later.
        _logger.warning("%s; this is tried again", error)
