"""The quorums that this process runs, by data directory: a notebook cell that is run again gets the same quorum."""

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
    """The arguments of a start, which must be equal for another start on the same directory."""

    voters: int
    base_port: int | None
    settings: dict[str, str]
    listen: str
    metrics: bool = False

    def __str__(self) -> str:
        metrics = ", metrics=True" if self.metrics else ""
        return (
            f"voters={self.voters}, base_port={self.base_port}, settings={self.settings}, listen={self.listen}{metrics}"
        )


class RunningServices(Generic[Service]):
    """Services by their directories. Starts from several threads run one after the other."""

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
            data_dir: the directory, by any path.
            arguments: of the start.
            start: starts the service.
            is_usable: whether a service that runs may be returned; if not, another one is started.

        Raises:
            ConfigError: one runs with other arguments; names them.
        """
        directory = data_dir.resolve()
        with self._starting:
            known = self._by_directory.get(directory)
            if known is not None and is_usable(known[1]):
                if known[0] != arguments:
                    raise ConfigError(
                        f"this process already runs a quorum on {data_dir} with {known[0]}, not with {arguments}: pass "
                        "the same arguments to get that quorum, or call its stop() first"
                    )
                return known[1]
            service = start()
            self._by_directory[directory] = (arguments, service)
            return service

    def forget(self, service: Service) -> None:
        """Remove a service that has stopped, if it is known."""
        with self._starting:
            self._by_directory = {
                directory: known for directory, known in self._by_directory.items() if known[1] is not service
            }
