"""The voters of a local quorum, together: started, watched, restarted, stopped."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.client import Client, ClientSettings
from raft.errors import ConfigError, QuorumUnavailableError
from raft.local.layout import Layout
from raft.local.voter import VoterProcess
from raft.storage.directory_lock import LOCK_FILE_NAME
from raft.storage.disk import DiskFiles
from raft.storage.files import DirectoryLock, DirectoryLockedError
from raft.types import NodeId

_logger = logging.getLogger(__name__)

_LOCK_WAIT_S = 10.0
_READY_WAIT_S = 30.0
_LOOK_S = 0.1
_HAND_OVER_S = 0.5
_STOP_WAIT_S = 10.0
_SHORTEST_PAUSE_S = 0.2
_LONGEST_PAUSE_S = 5.0
_LIVED_WELL_S = 10.0


class LocalQuorum:
    """Voters on loopback, each a child process of this one.

        with LocalQuorum.start(Path("metadata")) as quorum:
            print(quorum.bootstrap_servers)

    A voter that dies is started again. However this process ends, no voter is left behind.
    """

    def __init__(self, layout: Layout, voters: dict[NodeId, VoterProcess], lock: DirectoryLock) -> None:
        self._layout = layout
        self._voters = voters
        self._lock = lock
        self._is_stopping = threading.Event()
        self._stop_once = threading.Lock()
        self._watcher = threading.Thread(target=self._watch, name="voters' watch", daemon=True)

    @classmethod
    def start(
        cls,
        data_dir: Path,
        *,
        voters: int = 3,
        base_port: int | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> Self:
        """Start all voters, and return once they have a leader.

        Args:
            data_dir: made where it is missing; the next start recovers what is in it.
            voters: how many.
            base_port: first of the consecutive ports to listen on; None picks free ones.
            settings: further keys of the nodes' configuration.

        Raises:
            ConfigError: another process uses the directory and does not leave it within 10 s; it holds another number
                of voters; this Python drops assertions.
            QuorumUnavailableError: no leader within 30 s; says what the voters said last.
        """
        if not __debug__:
            raise ConfigError("python -O drops the assertions that keep a node from doing harm: run it without")
        if voters < 1:
            raise ConfigError(f"voters={voters}: allowed are whole numbers of 1 or more")
        try:
            data_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot make {data_dir}: {error.strerror or error}") from error
        lock = _lock(data_dir)
        try:
            layout = Layout.of(data_dir.resolve(), voters=voters, base_port=base_port)
            for node_id in layout.ports:
                _lock(layout.folder(node_id) / "log").release()
            quorum = cls(
                layout, {node_id: VoterProcess(layout, node_id, settings or {}) for node_id in layout.ports}, lock
            )
        except BaseException:
            lock.release()
            raise
        try:
            quorum._begin()
        except BaseException:
            quorum.stop()
            raise
        return quorum

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """All voters, as clients take them: host:port,..."""
        return self._layout.bootstrap_servers

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._layout.cluster_id

    @property
    def pids(self) -> dict[NodeId, int]:
        """The processes of the voters that run now."""
        return {node_id: voter.pid for node_id, voter in self._voters.items() if voter.pid is not None}

    def client(self, *, api_timeout_ms: int = 10_000) -> Client:
        """A client of this quorum."""
        servers = tuple(self._layout.endpoints.values())
        return Client(
            ClientSettings(
                bootstrap_servers=servers,
                cluster_id=self.cluster_id,
                api_timeout_ms=api_timeout_ms,
                request_timeout_ms=min(5_000, api_timeout_ms),
            )
        )

    def stop(self) -> None:
        """Stop all voters; a second call does nothing."""
        with self._stop_once:
            if self._is_stopping.is_set():
                return
            self._is_stopping.set()
        if self._watcher.is_alive():
            self._watcher.join()
        for voter in self._voters.values():
            voter.ask_to_stop()
        deadline_s = time.monotonic() + _HAND_OVER_S
        patient = [voter for voter in self._voters.values() if not voter.wait(max(0, deadline_s - time.monotonic()))]
        # Everybody leaves, so the last leader has nobody to hand over to: it need not wait for that.
        for voter in patient:
            voter.ask_to_stop()
        deadline_s = time.monotonic() + _STOP_WAIT_S
        for voter in patient:
            if not voter.wait(max(0, deadline_s - time.monotonic())):
                _logger.warning("voter %s does not stop and is killed", voter.node_id)
                voter.kill()
        self._lock.release()

    def _begin(self) -> None:
        for voter in self._voters.values():
            voter.start()
        self._watcher.start()
        deadline_s = time.monotonic() + _READY_WAIT_S
        while True:
            refused = [voter for voter in self._voters.values() if voter.exit_code == 1]
            if refused:
                raise ConfigError(f"voter {refused[0].node_id} does not start: {refused[0].last_words()}")
            try:
                with self.client(api_timeout_ms=500) as client:
                    if client.describe_quorum().high_watermark is not None:
                        return
            except QuorumUnavailableError as error:
                if time.monotonic() > deadline_s:
                    words = "; ".join(f"voter {v.node_id}: {v.last_words()}" for v in self._voters.values())
                    raise QuorumUnavailableError(f"no leader within {_READY_WAIT_S:.0f} s: {error}; {words}") from error
            time.sleep(_LOOK_S)

    def _watch(self) -> None:
        """Start again what has died; the oftener it dies soon after its start, the longer the pause before."""
        pauses_s = dict.fromkeys(self._voters, 0.0)
        started_s = dict.fromkeys(self._voters, time.monotonic())
        while not self._is_stopping.wait(_LOOK_S):
            for node_id, voter in self._voters.items():
                if voter.pid is not None:
                    continue
                now_s = time.monotonic()
                if now_s - started_s[node_id] < pauses_s[node_id]:
                    continue
                has_lived_well = now_s - started_s[node_id] >= _LIVED_WELL_S
                longer_s = max(_SHORTEST_PAUSE_S, pauses_s[node_id] * 2)
                pauses_s[node_id] = 0.0 if has_lived_well else min(longer_s, _LONGEST_PAUSE_S)
                _logger.warning(
                    "voter %s ended with code %s and is started again; its log is %s",
                    node_id,
                    voter.exit_code,
                    voter.log_file,
                )
                started_s[node_id] = now_s
                voter.start()


def _lock(directory: Path) -> DirectoryLock:
    """Take the lock of a directory; who holds it may be on its way out, so wait a while.

    Raises:
        ConfigError: it is in use and stays so.
    """
    files = DiskFiles(directory)
    files.make_directory("")
    deadline_s = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            return files.lock(LOCK_FILE_NAME)
        except DirectoryLockedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(_LOOK_S)
