"""What a run needs of a replicated log: five nodes, writers, and a reader of everything that is committed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

from tests.disk_faults.volume import Volume
from tests.processes.server import Server

Append = Callable[[bytes], None]
"""Appends one value and returns when it is acknowledged; raises `NotAcknowledgedError`."""


class NotAcknowledgedError(Exception):
    """Whether the value was appended is not known."""


class UnreadableError(Exception):
    """The log cannot be read as a whole, though all faults have ended; says why."""


class Node(Protocol):
    """One node; its data are on a volume of its own."""

    @property
    def process(self) -> Server:
        """The process."""

    @property
    def volume(self) -> Volume:
        """Where its data are."""

    def data_files(self) -> Sequence[Path]:
        """Return the files of its log."""

    def snapshot_files(self) -> Sequence[Path]:
        """Return its snapshots; there may be none yet."""


class System(ABC):
    """A replicated log on five nodes, with the defaults of its program where nothing else is said."""

    name: str

    @property
    @abstractmethod
    def nodes(self) -> Sequence[Node]:
        """Its nodes, whether they run or not."""

    @abstractmethod
    def start(self, node: Node) -> None:
        """Start a node; return at once, or when it serves."""

    @abstractmethod
    def create(self) -> None:
        """Create the log when the nodes run for the first time; wait until it accepts appends."""

    @abstractmethod
    def leader(self) -> Node:
        """Return the node that leads the log."""

    @abstractmethod
    def writer(self) -> AbstractContextManager[Append]:
        """Return a client of all nodes."""

    @abstractmethod
    def values(self) -> set[bytes]:
        """Read the log from its start to its committed end.

        Raises:
            UnreadableError: no node serves it, or it is gone.
        """
