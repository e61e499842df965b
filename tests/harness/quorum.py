"""Three nodes, each a process behind a proxy of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from raft.client import ClientSettings
from raft.config import NodeConfig
from raft.errors import QuorumUnavailableError
from raft.types import Endpoint
from tests.harness.callers import Callers
from tests.harness.flood import QUOTA
from tests.harness.planted import SERVE
from tests.harness.quorum_security import CLIENT_LISTENER, QuorumSecurity
from tests.metrics.scraped import with_metrics
from tests.network.network import Network
from tests.node.harness.properties import SHORT_TIMEOUTS, Properties, quorum_properties
from tests.node.harness.secured import endpoint_of
from tests.node.harness.waiting import eventually
from tests.processes.node_quorum import NodeQuorum

SECURITY_FOLDER = "security"
"""Has the secrets of a secured quorum, beside the folders of its nodes."""


FETCH_TIMEOUT_MS = 700
CHECK_QUORUM_MS = 1.5 * FETCH_TIMEOUT_MS
LONGEST_RECOVERY_S = 30.0
"""The quorum accepts appends within this time after a fault; it is far more than the quorum needs."""

PATIENT_MS = int(LONGEST_RECOVERY_S * 1000)
"""An API timeout that is longer than every fault."""

IMPATIENT_MS = 1_500
"""Requests time out during most faults, so that their outcome is unknown."""

LONGEST_TRANSACTION_MS = 10_000
"""`transaction.max.timeout.ms`: so long is a reader held by a transaction that was left open."""

_SEGMENT_BYTES = 8 << 20
"""The smallest valid size, so that a long run has several segments."""


class Quorum(NodeQuorum):
    """Voters 1 to 3; see `running_quorum`.

    Args:
        network: the proxies through which nodes and clients reach each other.
        folder: see `NodeQuorum`.
        configurations: see `NodeQuorum`.
        security: of a secured quorum; None if it is open to everyone.
        command: see `NodeQuorum`.
    """

    def __init__(
        self,
        network: Network,
        folder: Path,
        configurations: Mapping[int, Properties],
        *,
        security: QuorumSecurity | None = None,
        command: Sequence[str] = SERVE,
    ) -> None:
        super().__init__(folder, configurations, command=command)
        self.folder = folder
        self.network = network
        self.security = security

    def leader_id(self) -> int:
        """Wait for a leader.

        Raises:
            AssertionError: there is none in time, though all nodes run and all links work.
        """
        try:
            return super().leader_id()
        except QuorumUnavailableError as error:
            raise AssertionError(f"no leader within {LONGEST_RECOVERY_S:g} s: {error}") from error

    def settings(self, *, api_timeout_ms: int = PATIENT_MS, request_timeout_ms: int = 1_500) -> ClientSettings:
        settings = super().settings(api_timeout_ms=api_timeout_ms, request_timeout_ms=request_timeout_ms)
        return settings if self.security is None else replace(settings, security=self.security.client())

    def librdkafka_settings(self) -> dict[str, object]:
        """Return how clients of librdkafka connect."""
        return {"bootstrap.servers": self.bootstrap_servers} | (self.security.librdkafka() if self.security else {})

    @property
    def listeners(self) -> tuple[str, list[Endpoint]]:
        """How clients reach the nodes without a proxy: `plain` or `tls`, and where the nodes listen."""
        configurations = [node.properties for node in self.nodes.values()]
        if self.security is None:
            return "plain", [NodeConfig.from_properties(each).listener for each in configurations]
        return "tls", [endpoint_of(each, CLIENT_LISTENER) for each in configurations]

    def options(self) -> dict[str, str]:
        """Return how the connector connects."""
        return {"kraft.bootstrap.servers": self.bootstrap_servers} | (self.security.options() if self.security else {})

    def wait_for_transactions(self) -> None:
        """Wait until no transaction is open; no client may begin one meanwhile.

        Raises:
            AssertionError: one is open for longer than the longest timeout.
        """
        with self.client() as client:
            eventually(
                lambda: client.last_stable_offset() == client.describe_quorum().high_watermark,
                "no open transaction",
                within_s=LONGEST_TRANSACTION_MS / 1000 + LONGEST_RECOVERY_S,
            )


@contextmanager
def running_quorum(
    folder: Path,
    settings: Mapping[str, str] | None = None,
    *,
    is_secured: bool = False,
    command: Sequence[str] = SERVE,
) -> Iterator[Quorum]:
    """Run three nodes during the block.

    Args:
        folder: has their directories and output.
        settings: further keys of their configurations.
        is_secured: whether they are secured.
        command: see `NodeQuorum`.
    """
    with Network() as network:
        chosen = SHORT_TIMEOUTS | {
            "controller.quorum.fetch.timeout.ms": str(FETCH_TIMEOUT_MS),
            "metadata.log.segment.bytes": str(_SEGMENT_BYTES),
            "transaction.max.timeout.ms": str(LONGEST_TRANSACTION_MS),
            **(settings or {}),
        }
        quorum = quorum_behind(network, folder, chosen, is_secured=is_secured, command=command)
        with quorum.start():
            yield quorum


def quorum_behind(
    network: Network,
    folder: Path,
    settings: Mapping[str, str],
    *,
    is_secured: bool,
    command: Sequence[str] = SERVE,
) -> Quorum:
    """Return three nodes behind proxies, which do not run yet, in a folder that is made; see `running_quorum`."""
    folder.mkdir(parents=True, exist_ok=True)
    quotas = folder / "quotas.toml"
    quotas.write_text(QUOTA)
    settings = {**settings, "raft.quotas.file": str(quotas)}
    if not is_secured:
        configurations = with_metrics(quorum_properties(folder, 3, settings, advertise=network.open))
        return Quorum(network, folder, configurations, command=command)
    callers = Callers()
    configurations = quorum_properties(
        folder, 3, settings, advertise=partial(network.open, caller_of=callers.of_socket)
    )
    security = QuorumSecurity(folder / SECURITY_FOLDER)
    quorum = Quorum(network, folder, security.secured(configurations, network), security=security, command=command)
    callers.nodes = quorum.nodes
    return quorum
