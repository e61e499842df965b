"""One quorum of this process, which several parts of a program may use: it stops with the last of them."""

from __future__ import annotations

import atexit
import logging
import threading
import weakref
from collections.abc import Callable

from raft.local import LocalQuorum

_logger = logging.getLogger(__name__)

_POLL_S = 0.5


class RunningQuorum:
    """A local quorum, its users, and the watch that stops it with its application.

    Args:
        quorum: started.
        is_over: returns whether the application has ended; called twice a second.
        when_stopped: called once, after the voters have exited.

    Attributes:
        quorum: see there.
    """

    def __init__(
        self,
        quorum: LocalQuorum,
        is_over: Callable[[], bool],
        when_stopped: Callable[[RunningQuorum], None] = lambda _stopped: None,
    ) -> None:
        self.quorum = quorum
        self._is_over = is_over
        self._when_stopped: Callable[[RunningQuorum], None] | None = when_stopped
        # A user that the program has dropped without a stop cannot stop the quorum any more, and does not count.
        self._users: weakref.WeakSet[object] = weakref.WeakSet()
        # A reentrant lock: a signal may interrupt `leave`, and the same thread may call it again.
        self._joining = threading.RLock()
        self._is_stopped = threading.Event()
        self._watch = threading.Thread(target=self._stop_with_application, name="application's watch", daemon=True)
        self._watch.start()
        atexit.register(self.stop)

    @property
    def is_stopped(self) -> bool:
        """Whether it was stopped, or is being stopped."""
        return self._is_stopped.is_set()

    def join(self, user: object) -> bool:
        """Count a user; return whether the quorum runs."""
        with self._joining:
            if not self.is_stopped:
                self._users.add(user)
            return not self.is_stopped

    def leave(self, user: object) -> None:
        """Stop the quorum, unless it has other users; a second call for the same user does not count.

        Returns when the voters have exited, if they are stopped.
        """
        with self._joining:
            self._users.discard(user)
            others = len(self._users)
            if not others:
                self._is_stopped.set()
        if self.is_stopped:
            self.stop()
        else:
            _logger.info("the quorum of %s runs on for other users in this process: %s", self.quorum.data_dir, others)

    def stop(self) -> None:
        """Stop the voters for all users, and return when they have exited; another call waits and does nothing else."""
        self._is_stopped.set()
        self.quorum.stop()
        with self._joining:
            if self._when_stopped is not None:
                self._when_stopped(self)
                self._when_stopped = None
        # This comes last: if `stop` is interrupted, it is called again at the end of the program.
        atexit.unregister(self.stop)

    def is_usable(self) -> bool:
        """Return whether it may have another user; stop it if its application has ended."""
        if not self.is_stopped and not self._is_over():
            return True
        self.stop()
        return False

    def _stop_with_application(self) -> None:
        """Stop the quorum when the application has ended.

        A SparkListener would be called at that moment, but also for every task and stage.
        """
        while not self._is_stopped.wait(_POLL_S):
            if self._is_over():
                _logger.info("the Spark application has ended; the voters are stopped")
                self.stop()
