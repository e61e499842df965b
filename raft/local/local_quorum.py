"""A local quorum: starts, watches, restarts and stops its voters."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.client import Client, ClientSettings
from raft.client.settings import DEFAULT_REQUEST_TIMEOUT_MS
from raft.errors import ConfigError, QuorumUnavailableError, RaftError, StorageError
from raft.local.layout import Layout
from raft.local.listen_address import LOOPBACK, ListenAddress
from raft.local.local_security import CLIENT_FILE, LocalSecurity
from raft.local.lock import lock_patiently
from raft.local.ports import free_ports
from raft.local.voter import VoterProcess
from raft.local.voter_properties import check_properties, voter_properties
from raft.local.watch import Watch
from raft.storage.disk import make_private_folder
from raft.storage.files import DirectoryLock
from raft.types import Endpoint, NodeId

_logger = logging.getLogger(__name__)

_READY_WAIT_S = 30.0
_LOOK_S = 0.1
_ASK_MS = 500
_HAND_OVER_S = 0.5
_STOP_WAIT_S = 10.0
_STOP_LOOK_S = 0.02


class LocalQuorum:
    """Voters on this machine, each a child process of this one.

        with LocalQuorum.start(Path("metadata")) as quorum:
            print(quorum.bootstrap_servers)

    A voter that exits is started again. When this process ends, in whatever way, all voters exit.

    Args:
        layout: of the quorum.
        voters: not started yet.
        lock: of the data directory; `stop` releases it.
        security: by which voters and clients know each other.
        metrics_endpoints: where the voters serve their metrics; empty if they do not.

    Attributes:
        metrics_endpoints: see there.
    """

    def __init__(
        self,
        layout: Layout,
        voters: Iterable[VoterProcess],
        lock: DirectoryLock,
        security: LocalSecurity,
        metrics_endpoints: Mapping[NodeId, Endpoint],
    ) -> None:
        self._layout = layout
        self._voters = tuple(voters)
        self._lock = lock
        self._security = security
        self.metrics_endpoints = metrics_endpoints
        self._watch = Watch(self._voters)
        # A reentrant lock: a signal may interrupt `stop`, and the same thread may call it again.
        self._stopping = threading.RLock()

    @classmethod
    def start(
        cls,
        data_dir: Path,
        *,
        voters: int = 3,
        base_port: int | None = None,
        settings: Mapping[str, str | int] | None = None,
        listen: ListenAddress = LOOPBACK,
        metrics: bool = False,
    ) -> Self:
        """Start all voters, and return when they have a leader.

        Args:
            data_dir: is created if it does not exist; a later start goes on with the data in it.
            voters: number of voters.
            base_port: first of the consecutive ports to listen on; None chooses free ports.
            settings: more properties of the nodes.
            listen: the address on which they listen for clients.
            metrics: whether the voters serve their metrics, on free ports of loopback: see `metrics_endpoints`.

        Raises:
            ConfigError: another process uses the directory for 10 s and longer; it has another number of voters; a
                setting is wrong; a port from `base_port` on is in use; a voter does not start; the address is not one
                of this machine; Python runs with -O.
            StorageError: the disk returned an error.
            QuorumUnavailableError: no leader within 30 s; has the last line of each voter's log.
        """
        if not __debug__:
            raise ConfigError("python -O removes assertions that a node needs for safety: run it without -O")
        if voters < 1:
            raise ConfigError(f"voters={voters}: expected a whole number of 1 or more")
        with ExitStack() as undo:
            lock = lock_patiently(_made(data_dir))
            undo.callback(lock.release)
            for log_dir in data_dir.glob("node-*/log"):
                # Voters of a parent that was killed just now may not have exited yet, and have their ports until then.
                lock_patiently(log_dir).release()
            layout = Layout.of(data_dir.resolve(), voters=voters, base_port=base_port, listen=listen)
            endpoints = _free_endpoints(layout) if metrics else {}
            security = LocalSecurity.of(layout)
            quorum = cls(layout, _voters_of(layout, security, settings or {}, endpoints), lock, security, endpoints)
            security.write_certificates()
            undo.callback(quorum.stop)
            quorum._begin()
            undo.pop_all()
        return quorum

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all voters, for clients: host:port,..."""
        return self._layout.bootstrap_servers

    @property
    def data_dir(self) -> Path:
        """The directory of the quorum."""
        return self._layout.data_dir

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self._layout.cluster_id

    @property
    def pids(self) -> dict[NodeId, int]:
        """The process ids of the voters that run now."""
        pids = {voter.node_id: voter.pid for voter in self._voters}
        return {node_id: pid for node_id, pid in pids.items() if pid is not None}

    @property
    def client_config(self) -> Path:
        """The file with what a client needs to prove that it belongs here, for `--command-config` of the commands."""
        return self._layout.data_dir / CLIENT_FILE

    @property
    def client_properties(self) -> dict[str, str]:
        """The content of that file, without `bootstrap.servers`."""
        return self._security.client_properties()

    def client(self, *, api_timeout_ms: int = 10_000) -> Client:
        """Return a client of this quorum.

        Args:
            api_timeout_ms: see `ClientSettings`.
        """
        servers = tuple(self._layout.endpoints.values())
        return Client(
            ClientSettings(
                bootstrap_servers=servers,
                cluster_id=self.cluster_id,
                api_timeout_ms=api_timeout_ms,
                request_timeout_ms=min(DEFAULT_REQUEST_TIMEOUT_MS, api_timeout_ms),
                security=self._security.client(),
            )
        )

    def stop(self) -> None:
        """Stop all voters, and return when they have exited; another call waits and does nothing else."""
        with self._stopping:
            self._watch.stop()
            for voter in self._voters:
                voter.ask_to_stop()
            deadline_s = time.monotonic() + _HAND_OVER_S
            while len(self.pids) > 1 and time.monotonic() < deadline_s:
                time.sleep(_STOP_LOOK_S)
            # All voters exit, so the last leader need not wait until another voter takes over.
            for voter in self._voters:
                voter.ask_to_stop()
            deadline_s = time.monotonic() + _STOP_WAIT_S
            for voter in self._voters:
                if not voter.wait(max(0.0, deadline_s - time.monotonic())):
                    _logger.warning("voter did not stop in time and is killed: node_id=%s", voter.node_id)
                    voter.kill()
            self._lock.release()

    def _begin(self) -> None:
        for voter in self._voters:
            voter.start()
        deadline_s = time.monotonic() + _READY_WAIT_S
        while (problem := self._problem()) is not None:
            for voter in self._voters:
                if voter.pid is None:
                    raise ConfigError(f"voter {voter.node_id} does not start: {voter.ending()}")
            if time.monotonic() > deadline_s:
                lines = "; ".join(f"voter {voter.node_id}: {voter.last_line()}" for voter in self._voters)
                raise QuorumUnavailableError(
                    f"no leader within {_READY_WAIT_S:g} s: {problem}; last lines of the voters' logs: {lines}"
                )
            time.sleep(_LOOK_S)
        # The watch starts last: a voter that does not start is an error, and is not started again.
        self._watch.start()

    def _problem(self) -> str | None:
        """Return why clients cannot use the quorum yet; None if they can."""
        try:
            with self.client(api_timeout_ms=_ASK_MS) as client:
                is_ready = client.describe_quorum().high_watermark is not None
                return None if is_ready else "the leader has not committed a record of its epoch"
        except RaftError as error:
            # Another quorum may listen on a port of a voter, which refuses these credentials; the voter says why it
            # does not start as soon as it exits.
            return str(error)


def _free_endpoints(layout: Layout) -> dict[NodeId, Endpoint]:
    """Return an endpoint of loopback for each voter, at which nothing listens."""
    taken = {*layout.ports.values(), *layout.voter_ports.values()}
    found = [port for port in free_ports(len(layout.ports) + len(taken)) if port not in taken]
    return {node_id: Endpoint(LOOPBACK.bind, port) for node_id, port in zip(layout.ports, found, strict=False)}


def _voters_of(
    layout: Layout,
    security: LocalSecurity,
    settings: Mapping[str, str | int],
    metrics_endpoints: Mapping[NodeId, Endpoint],
) -> list[VoterProcess]:
    """Return the voters, not started yet, and log the warnings about their settings once."""
    voters: list[VoterProcess] = []
    warnings: set[str] = set()
    for node_id in layout.ports:
        properties = voter_properties(
            layout,
            node_id,
            settings,
            security=security.voter_properties(node_id),
            metrics=metrics_endpoints.get(node_id),
        )
        warnings.update(check_properties(properties))
        voters.append(VoterProcess(node_id, layout.folder(node_id), properties))
    for warning in sorted(warnings):
        _logger.warning("settings: %s", warning)
    return voters


def _made(data_dir: Path) -> Path:
    try:
        make_private_folder(data_dir)
    except StorageError as error:
        raise ConfigError(str(error)) from error
    return data_dir
