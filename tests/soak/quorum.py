"""Three nodes, each a process behind its proxy, and what is to be seen of them from outside."""

from __future__ import annotations

import random
import re
import signal
import socket
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from raft.client import Client, ClientSettings
from raft.errors import QuorumUnavailableError
from raft.types import Endpoint
from tests.network.network import Network
from tests.node.harness.processes import DIE_WITH_US, KRAFT, NodeProcess, wrong_lines
from tests.node.harness.properties import HOST, node_properties
from tests.node.harness.settling import settled

FETCH_TIMEOUT_MS = 700
CHECK_QUORUM_MS = 1.5 * FETCH_TIMEOUT_MS
LONGEST_RECOVERY_S = 30.0
"""With all nodes up and no cut, the quorum serves again within this time; far more than it needs."""

PATIENT_MS = int(LONGEST_RECOVERY_S * 1000)
"""Outlasts every fault."""

_NODE_IDS = (1, 2, 3)
_SEGMENT_BYTES = 8 << 20
"""The smallest that is allowed, so that a long run has several."""

_QUIET_PORTS = range(20_000, 30_000)
"""Systems give out others by themselves. One of those could be taken by a client while its node is down."""

_ELECTED = re.compile(r"node (\d+) epoch (\d+): \w+ -> Leader")


class Quorum:
    """Voters 1 to 3; `running_quorum` makes one."""

    def __init__(self, network: Network, nodes: Mapping[int, NodeProcess]) -> None:
        self.network = network
        self.nodes = nodes

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """Where clients reach the nodes."""
        return tuple(map(self.network.endpoint, self.nodes))

    def settings(self, *, api_timeout_ms: int) -> ClientSettings:
        """Settings of a client of all nodes."""
        return ClientSettings(bootstrap_servers=self.endpoints, api_timeout_ms=api_timeout_ms, request_timeout_ms=1_500)

    def leader_id(self) -> int:
        """Wait for a leader.

        Raises:
            AssertionError: there is none in time, though all nodes are up and nothing is cut.
        """
        try:
            with Client(self.settings(api_timeout_ms=PATIENT_MS)) as client:
                return client.describe_quorum().leader_id
        except QuorumUnavailableError as error:
            raise AssertionError(f"no leader within {LONGEST_RECOVERY_S:g} s: {error}") from error

    def followers_of(self, leader_id: int) -> list[int]:
        """All others."""
        return [node_id for node_id in self.nodes if node_id != leader_id]

    def start(self, node_ids: Sequence[int]) -> None:
        """Start nodes that were ended, and wait until they serve."""
        for node_id in node_ids:
            self.nodes[node_id].start()
        for node_id in node_ids:
            self.nodes[node_id].wait_until_serving()

    def settle(self) -> None:
        """Wait until all nodes hold the whole log and all of it is committed; nobody may append meanwhile.

        Raises:
            AssertionError: they do not in time.
        """
        with Client(self.settings(api_timeout_ms=PATIENT_MS)) as client:
            settled(client, self.nodes, within_s=LONGEST_RECOVERY_S)

    def kill_all(self) -> None:
        """End all nodes at once."""
        for node in self.nodes.values():
            node.signal(signal.SIGKILL)
        for node in self.nodes.values():
            node.wait()

    def complaints(self) -> Iterator[str]:
        """Say what is wrong with nodes that were told to run, and with what they have said so far."""
        leaders: dict[int, list[int]] = defaultdict(list)
        for node_id, node in self.nodes.items():
            words = node.words
            for line in wrong_lines(words):
                yield f"node {node_id} says: {line}"
            for elected_id, epoch in _ELECTED.findall(words):
                leaders[int(epoch)].append(int(elected_id))
        for epoch, elected in leaders.items():
            if len(elected) > 1:
                yield f"epoch {epoch} had more than one leader: nodes {elected}"

    def ended_by_themselves(self) -> Iterator[str]:
        """Say which nodes do not run; all have been told to."""
        for node_id, node in self.nodes.items():
            if not node.is_running:
                yield f"node {node_id} ended by itself with {node.wait()}: {node.words.splitlines()[-1:]}"

    def leader_changes(self) -> int:
        """How many times a leader was elected after the first time."""
        return sum(len(_ELECTED.findall(node.words)) for node in self.nodes.values()) - 1


@contextmanager
def running_quorum(folder: Path) -> Iterator[Quorum]:
    """Three nodes that run, with their directories and all they say in `folder`. None of them outlasts the block."""
    listeners = {node_id: Endpoint(HOST, port) for node_id, port in zip(_NODE_IDS, _quiet_ports(), strict=True)}
    with ExitStack() as stack:
        network = stack.enter_context(Network())
        places = {node_id: network.open(node_id, listener) for node_id, listener in listeners.items()}
        nodes = {
            node_id: NodeProcess(
                node_properties(
                    folder / f"node-{node_id}",
                    node_id=node_id,
                    port=listener.port,
                    advertised__listeners=f"CONTROLLER://{places[node_id]}",
                    controller__quorum__voters=",".join(f"{voter_id}@{place}" for voter_id, place in places.items()),
                    controller__quorum__fetch__timeout__ms=str(FETCH_TIMEOUT_MS),
                    metadata__log__segment__bytes=str(_SEGMENT_BYTES),
                ),
                folder / f"process-{node_id}",
                command=(*DIE_WITH_US, *KRAFT, "serve"),
            )
            for node_id, listener in listeners.items()
        }
        quorum = Quorum(network, nodes)
        for node in nodes.values():
            stack.enter_context(node)
        quorum.start(list(nodes))
        yield quorum


def _quiet_ports() -> list[int]:
    """A port for each node, which nobody uses now."""
    ports: list[int] = []
    with ExitStack() as probes:
        for port in random.sample(_QUIET_PORTS, len(_QUIET_PORTS)):
            probe = probes.enter_context(socket.socket())
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            ports.append(port)
            if len(ports) == len(_NODE_IDS):
                break
    return ports
