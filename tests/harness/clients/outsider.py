"""Clients that must always be refused, and a session that must end."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from random import Random

from raft.client import Client, ClientSettings
from raft.errors import ConfigError, ErrorCode, QuorumUnavailableError, RequestError
from raft.security.authority import Authority
from raft.types import Endpoint, Offset
from raft.wire.messages import vote
from raft.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.harness.quorum import Quorum
from tests.harness.quorum_security import KAFKA, OUTSIDER, SESSION_MS, QuorumSecurity, endpoint_for_clients
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import CLUSTER_ID, TOPIC
from tests.node.harness.wire import Wire
from tests.workload.history import History
from tests.workload.worker import Worker

_PAUSE_S = 0.1
_HIGH_EPOCH = 1_000_000
_AFTER_SESSION_S = SESSION_MS / 1000 + 0.3
_REFUSALS = (
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)


class Outsider(Worker):
    """Sends requests that no rule allows, proves names by wrong passwords and by certificates of another authority.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        quorum: gets its requests.
        security: of the quorum.
        settings: of its client, with short timeouts.
        dice: decides what it sends.
    """

    def __init__(
        self,
        name: str,
        history: History,
        quorum: Quorum,
        security: QuorumSecurity,
        settings: ClientSettings,
        dice: Random,
    ) -> None:
        super().__init__(name, history)
        self._quorum = quorum
        self._security = security
        self._settings = settings
        self._dice = dice
        self._own = security.keys.tls(security.keys.certificate(OUTSIDER, ()))
        keystore = security.keys.certificate("node1-of-another", authority=Authority.create("another"))
        self._of_another = security.keys.tls(keystore)

    def _run(self) -> None:
        attempts = (self._ask_as_client, self._vote, self._guess, self._pose_as_voter, self._ask_without_tls)
        while not self._is_stopping.wait(self._dice.uniform(0, _PAUSE_S)):
            attempt = self._dice.choice(attempts)
            try:
                refusal = attempt()
            except (QuorumUnavailableError, OSError):
                continue  # A fault.
            self._security.refused[refusal] += 1

    def _ask_as_client(self) -> str:
        """Use a client whose password is right, but who may do nothing."""
        with Client(self._settings) as client:
            calls: tuple[Callable[[], object], ...] = (
                lambda: client.append(batch_of(f"{self.name}-0".encode())),
                lambda: client.fetch(Offset(0)),
                client.last_stable_offset,
                client.new_producer_id,
                client.describe_quorum,
            )
            try:
                result = self._dice.choice(calls)()
            except (RequestError, ConfigError) as error:
                # The client says in a ConfigError that no topic is shown to it.
                if isinstance(error, RequestError) and error.code not in _REFUSALS:
                    raise
                return "requests of a client without rights"
        raise AssertionError(f"the outsider got {result!r:.200}")

    def _vote(self) -> str:
        """Ask for a vote in the name of a voter, with a certificate of the quorum's authority."""
        candidate = vote.VoteRequestPartition(
            partition_index=0,
            replica_epoch=_HIGH_EPOCH,
            replica_id=self._dice.choice(list(self._quorum.nodes)),
            last_offset_epoch=_HIGH_EPOCH,
            last_offset=1 << 40,
        )
        topics = (vote.VoteRequestTopic(topic_name=TOPIC, partitions=(candidate,)),)
        with self._wire(self._own) as wire:
            response = wire.ask(vote.VoteRequest(cluster_id=CLUSTER_ID, topics=topics), 1, vote.VoteResponse)
        assert response.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"the outsider may vote: {response}"
        return "votes of a client"

    def _guess(self) -> str:
        with Wire(self._for_clients(), tls=self._security.keys.tls()) as wire:
            response = wire.prove(self._security.proof(KAFKA, f"guess-{self._dice.random()}"))
        assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED, f"a guess is accepted: {response}"
        return "wrong passwords"

    def _pose_as_voter(self) -> str:
        """Use a certificate with the name of a voter, of another authority."""
        try:
            with self._wire(self._of_another) as wire:
                response = wire.ask(ApiVersionsRequest(), 3, ApiVersionsResponse)
        except ssl.SSLError:
            return "certificates of another authority"
        raise AssertionError(f"a certificate of another authority is accepted: {response!r:.200}")

    def _ask_without_tls(self) -> str:
        with Wire(self._for_clients()) as wire:
            wire.send(ApiVersionsRequest(), 3)
            assert wire.is_closed_by_node(), "a listener with TLS serves a client without it"
        return "connections without TLS"

    def _wire(self, tls: ssl.SSLContext) -> Wire:
        return Wire(self._dice.choice(list(self._quorum.nodes.values())).endpoint, tls=tls)

    def _for_clients(self) -> Endpoint:
        return endpoint_for_clients(self._dice.choice(list(self._quorum.nodes.values())).properties)


class ExpiringSession(Worker):
    """Proves its name once on each connection, and sends a request after the end of its session.

    Args:
        name: see `Worker`.
        history: see `Worker`.
        quorum: gets its requests.
        security: of the quorum.
        dice: chooses the node.
    """

    def __init__(self, name: str, history: History, quorum: Quorum, security: QuorumSecurity, dice: Random) -> None:
        super().__init__(name, history)
        self._quorum = quorum
        self._security = security
        self._dice = dice

    def _run(self) -> None:
        while not self._is_stopping.wait(_PAUSE_S):
            node = self._dice.choice(list(self._quorum.nodes.values()))
            try:
                self._outstay(endpoint_for_clients(node.properties))
            except OSError:
                continue  # The node is killed, suspended or partitioned.

    def _outstay(self, endpoint: Endpoint) -> None:
        with Wire(endpoint, tls=self._security.keys.tls()) as wire:
            proved = wire.prove(self._security.proof(KAFKA))
            assert not proved.error_code, f"the password is refused: {proved.error_message}"
            served = wire.ask(ApiVersionsRequest(), 3, ApiVersionsResponse)
            assert not served.error_code, f"a session is not served: {served}"
            if self._is_stopping.wait(_AFTER_SESSION_S):
                return
            try:
                response = wire.ask(ApiVersionsRequest(), 3, ApiVersionsResponse)
            except ConnectionError:
                self._security.refused["requests after a session"] += 1
                return
        raise AssertionError(f"a session that is over is served: {response!r:.200}")
