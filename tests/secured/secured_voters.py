"""What voters of both kinds need to know each other: properties that `kraft serve` and TestRaftServer read alike."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Iterable
from pathlib import Path

from raft.config.security import ClientSecurity, client_security, login_module
from raft.security.authority import Authority
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.types import Endpoint
from raft.wire.messages.sasl import SaslAuthenticateResponse
from tests.java.quorum_view import RESPONSE_S
from tests.node.harness.properties import HOST, Properties
from tests.node.harness.wire import Wire
from tests.processes.kraft import kraft

CLIENT = "client"
SCRAM = "SCRAM-SHA-256"


class SecuredVoters:
    """Certificates and rules of voters that connect over SSL, each with a certificate of its own.

    Args:
        folder: gets the files.
        voters: the ids of the voters.
    """

    def __init__(self, folder: Path, voters: Iterable[int]) -> None:
        self._folder = folder
        self._authority = Authority.create("authority of the voters")
        self.truststore = folder / "authority.pem"
        self.truststore.write_bytes(self._authority.certificate_pem())
        self._users = (CLIENT, *(f"node{voter}" for voter in voters))
        for user in self._users:
            self._keystore(user).write_bytes(self._authority.issue(user, [HOST]))
        self._rules = folder / "authorization.toml"
        peers = "".join(f'{voter} = ["User:node{voter}"]\n' for voter in voters)
        allowed = f'["User:{CLIENT}"]'
        self._rules.write_text(f"[allow]\nread = {allowed}\nappend = {allowed}\n\n[allow.peer]\n{peers}")

    def properties(self, node_id: int) -> Properties:
        """Return the properties of a voter, of whichever kind it is. Kafka ignores those that it does not know."""
        return {
            "listener.security.protocol.map": "CONTROLLER:SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._keystore(f"node{node_id}")),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.truststore),
            "ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
            "raft.authorization.file": str(self._rules),
        }

    def client_properties(self) -> Properties:
        """Return the properties of a client that may read and append."""
        return {
            "security.protocol": "SSL",
            "ssl.keystore.location": str(self._keystore(CLIENT)),
            "ssl.truststore.location": str(self.truststore),
        }

    def client(self) -> ClientSecurity:
        """Return the same as settings."""
        return client_security(self.client_properties())

    def open_wire(self, node: Endpoint) -> Wire:
        """Open a connection of that client to a voter."""
        context = ssl.create_default_context(cafile=str(self.truststore))
        context.load_cert_chain(self._keystore(CLIENT))
        return Wire(node, tls=context, within_s=RESPONSE_S)

    def _keystore(self, user: str) -> Path:
        return self._folder / f"{user}.pem"


class PlainVoters(SecuredVoters):
    """Voters that connect over SASL_SSL with PLAIN; the names and passwords are in `sasl.jaas.config`."""

    def __init__(self, folder: Path, voters: Iterable[int]) -> None:
        super().__init__(folder, voters)
        self._passwords = {user: secrets.token_urlsafe(12) for user in self._users}

    def properties(self, node_id: int) -> Properties:
        """See `SecuredVoters.properties`."""
        users = " ".join(f'user_{user}="{password}"' for user, password in self._passwords.items())
        return {
            **super().properties(node_id),
            "listener.security.protocol.map": "CONTROLLER:SASL_SSL",
            "ssl.client.auth": "none",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": self._jaas("PLAIN", f"node{node_id}", users),
        }

    def client_properties(self) -> Properties:
        """See `SecuredVoters.client_properties`."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.location": str(self.truststore),
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": self._jaas("PLAIN", CLIENT),
        }

    def open_wire(self, node: Endpoint) -> Wire:
        """See `SecuredVoters.open_wire`."""
        wire = self._open_unproved(node)
        refused = wire.prove(PlainAuthenticator(CLIENT, self._passwords[CLIENT])).error_code
        assert not refused, f"{node} refuses the client: {refused}"
        return wire

    def _open_unproved(self, node: Endpoint) -> Wire:
        return Wire(node, tls=ssl.create_default_context(cafile=str(self.truststore)), within_s=RESPONSE_S)

    def _jaas(self, mechanism: str, user: str, others: str = "") -> str:
        words = [
            login_module(mechanism),
            "required",
            f'username="{user}"',
            f'password="{self._passwords[user]}"',
            others,
        ]
        return f"{' '.join(words).rstrip()};"


class ScramVoters(PlainVoters):
    """The same, but the first voter has no password for PLAIN: it proves its name by SCRAM-SHA-256.

    The credentials for SCRAM are in the file of `kraft credentials`: those of the first voter and of the client.
    """

    def __init__(self, folder: Path, voters: Iterable[int]) -> None:
        super().__init__(folder, voters)
        self._by_scram = self._users[1]
        self._credentials = folder / "credentials.json"
        for user in (self._by_scram, CLIENT):
            password = f"{self._passwords[user]}\n".encode()
            add = ("credentials", "add", str(self._credentials), user, "--mechanism", SCRAM)
            kraft(*add, stdin=password).require_success()

    def properties(self, node_id: int) -> Properties:
        """See `SecuredVoters.properties`."""
        own, others = f"node{node_id}", self._passwords.keys() - {self._by_scram}
        users = " ".join(f'user_{user}="{self._passwords[user]}"' for user in sorted(others))
        return {
            **super().properties(node_id),
            "sasl.mechanism.controller.protocol": SCRAM if own == self._by_scram else "PLAIN",
            "sasl.enabled.mechanisms": f"PLAIN,{SCRAM}",
            "listener.name.controller.plain.sasl.jaas.config": self._jaas("PLAIN", own, users),
            f"listener.name.controller.{SCRAM.lower()}.sasl.jaas.config": self._jaas(SCRAM, own),
            "raft.scram.credentials.file": str(self._credentials),
        }

    def response_to_scram(self, node: Endpoint) -> SaslAuthenticateResponse:
        """Return the last response of a voter to the client that proves its name by SCRAM."""
        with self._open_unproved(node) as wire:
            return wire.prove(ScramAuthenticator(SCRAM, CLIENT, self._passwords[CLIENT]))
