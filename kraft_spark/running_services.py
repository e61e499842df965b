"""The quorums that this process runs, by data directory: a notebook's cell that is run again finds its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from raft.errors import ConfigError

Service = TypeVar("Service")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartArguments:
    """What a quorum was started with, as far as another start must agree."""

    voters: int
    base_port: int | None
    settings: dict[str, str]

    def __str__(self) -> str:
        return f"voters={self.voters}, base_port={self.base_port}, settings={self.settings}"


class RunningServices(Generic[Service]):
    """Services by the directory that each has for itself. Starts are serialised, whatever threads they come from."""

    def __init__(self) -> None:
        self._by_directory: dict[Path, tuple[StartArguments, Service]] = {}
        self._starting = threading.RLock()

    def get_or_start(
        self,
        data_dir: Path,
        arguments: StartArguments,
        start: Callable[[], Service],
        *,
        is_usable: Callable[[Service], bool],
    ) -> Service:
        """Return the service that runs on a directory, or start one.

        Args:
            data_dir: the directory, however it is spelt.
            arguments: what the service is to be started with.
            start: starts it.
            is_usable: whether one that runs may be given out; if not, another one is started.

        Raises:
            ConfigError: one runs with other arguments; says with which.
        """
        directory = data_dir.resolve()
        with self._starting:
            known = self._by_directory.get(directory)
            if known is not None and is_usable(known[1]):
                if known[0] != arguments:
                    raise ConfigError(
                        f"this process runs a quorum on {data_dir} already, with {known[0]}; asked for was "
                        f"{arguments}. Give the same arguments to get that one, or call its stop() first"
                    )
                return known[1]
            service = start()
            self._by_directory[directory] = (arguments, service)
            return service

    def forget(self, service: Service) -> None:
        """Forget a service that has stopped; one that is not known here is none of them."""
        with self._starting:
            self._by_directory = {
                directory: known for directory, known in self._by_directory.items() if known[1] is not service
            }
