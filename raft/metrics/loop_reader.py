"""Reads the state of a node from other threads: between two steps of its event loop, so that it is consistent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from raft.errors import RaftError
from raft.runtime.disk import Disk
from raft.runtime.scheduler import Action
from raft.storage.directory import ReplicaDirectory

Result = TypeVar("Result")


class LoopSilentError(RaftError):
    """The event loop or the disk did not respond in time."""


class LoopReader:
    """Reads on the event loop of a node.

    Args:
        post: runs an action on the event loop, from any thread.
        timeout_s: how long to wait for a result.
    """

    def __init__(self, post: Callable[[Action], None], timeout_s: float) -> None:
        self._post = post
        self._timeout_s = timeout_s

    def read(self, look: Callable[[], Result]) -> Result:
        """Return the result of a function that the event loop calls.

        Raises:
            LoopSilentError: the event loop does not call it in time.
            Exception: what the function raises.
        """
        future: Future[Result] = Future()

        def run() -> None:
            try:
                future.set_result(look())
            except Exception as error:
                future.set_exception(error)

        self._post(run)
        return self._result(future, "the event loop")

    def read_disk(self, disk: Disk, look: Callable[[ReplicaDirectory], Result]) -> Result:
        """Return the result of a function that the disk calls with the directory.

        Raises:
            LoopSilentError: the disk does not call it in time.
            Exception: what the function raises. It does not stop the node.
        """
        future: Future[Result] = Future()

        def run(directory: ReplicaDirectory) -> Callable[[], None]:
            try:
                found = look(directory)
            except Exception as error:
                failure = error
                return lambda: future.set_exception(failure)
            return lambda: future.set_result(found)

        self._post(lambda: disk.look(run, lambda settle: settle()))
        return self._result(future, "the disk")

    def _result(self, future: Future[Result], who: str) -> Result:
        try:
            return future.result(self._timeout_s)
        except TimeoutError:
            raise LoopSilentError(f"{who} did not respond within {self._timeout_s:g} s") from None
