"""The secrets, certificates and rules of a secured quorum, which change while it runs; and how its clients connect."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from raft.config.security import ClientSecurity, SecurityProtocol, client_security, login_module
from raft.security.credentials import LEAST_ITERATIONS, Credentials, ScramCredential
from raft.security.sasl_client import ScramAuthenticator
from raft.types import Endpoint
from tests.network.network import CLIENTS, Network
from tests.node.harness.keys import SCRAM, Keys
from tests.node.harness.properties import Properties
from tests.node.harness.secured import MUTUAL_TLS, TLS_SCRAM, VOTERS, endpoint_of, secured

CLIENT_LISTENER = "CLIENT"

APPLICATION = "application"
"""The user of our clients; its password changes."""

KAFKA = "kafka"
"""The user of Kafka's clients, whose password stays: they do not read it again."""

GUEST = "guest"
"""A user that may append only sometimes."""

OUTSIDER = "outsider"
"""A user that may do nothing."""

PASSWORDS = "secret-of-"
"""How all passwords begin."""

SESSION_MS = 3_000
"""`connections.max.reauth.ms`: shorter than some faults, so that sessions expire in them."""

_PROTOCOL = SecurityProtocol.SASL_SSL
_RULES = """
[allow]
read = ["User:{application}", "User:{kafka}"]
append = ["User:{application}", "User:{kafka}"{guest}]

[allow.peer]
1 = ["User:node1"]
2 = ["User:node2"]
3 = ["User:node3"]
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Passwords:
    """The passwords of a user: the present one, and the one before, if there was one."""

    present: str
    former: str | None = None


class QuorumSecurity:
    """Of one quorum: its clients use SCRAM over TLS, and its voters know each other by certificates.

    Args:
        folder: gets the files of nodes and clients.

    Attributes:
        keys: the authority, and the files of the nodes.
        refused: how often the nodes have refused what they must refuse, by what that was.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.keys = Keys(folder, rules=_rules(allows_guest=True))
        self._folder = folder
        self.refused: Counter[str] = Counter()
        self._keystores: dict[int, Path] = {}
        self._passwords = {
            user: Passwords(present=_password(user, 0)) for user in (APPLICATION, KAFKA, GUEST, OUTSIDER)
        }
        self._write_passwords()

    def secured(
        self, configurations: Mapping[int, Properties], network: Network, *, session_ms: int = SESSION_MS
    ) -> dict[int, Properties]:
        """Return the configurations with this security, and with a listener for clients behind a proxy.

        Args:
            configurations: of nodes that know each other by their ids.
            network: gets the proxies.
            session_ms: how long clients need not authenticate again.
        """
        made = secured(configurations, self.keys, {VOTERS: MUTUAL_TLS, CLIENT_LISTENER: TLS_SCRAM})
        proxies = {
            node_id: network.open(node_id, endpoint_of(properties, CLIENT_LISTENER), caller_of=lambda *_: CLIENTS)
            for node_id, properties in made.items()
        }
        voters = ",".join(f"{node_id}@{proxy}" for node_id, proxy in proxies.items())
        for node_id, properties in made.items():
            self._keystores[node_id] = self.keys.folder / f"node{node_id}.pem"
            properties["advertised.listeners"] += f",{CLIENT_LISTENER}://{proxies[node_id]}"
            properties[f"listener.name.{CLIENT_LISTENER.lower()}.quorum.voters"] = voters
            properties["connections.max.reauth.ms"] = str(session_ms)
        return made

    def properties(self, user: str = APPLICATION) -> Properties:
        """Return the properties of a client; the password is a reference."""
        password = f"${{directory:{self._folder}:{_file(user)}}}"
        return {
            "security.protocol": _PROTOCOL.value,
            "ssl.truststore.location": str(self.keys.truststore),
            "sasl.mechanism": SCRAM,
            "sasl.jaas.config": f'{login_module(SCRAM)} required username="{user}" password="{password}";',
        }

    def client(self, user: str = APPLICATION) -> ClientSecurity:
        """Return the same as settings."""
        return client_security(self.properties(user))

    def options(self) -> dict[str, str]:
        """Return the same as options of the connector."""
        return {f"kraft.{key}": value for key, value in self.properties().items()}

    def librdkafka(self) -> dict[str, object]:
        """Return the settings of a client of librdkafka."""
        return {
            "security.protocol": _PROTOCOL.value,
            "ssl.ca.location": str(self.keys.truststore),
            "sasl.mechanism": SCRAM,
            "sasl.username": KAFKA,
            "sasl.password": self._passwords[KAFKA].present,
        }

    def passwords(self, user: str) -> Passwords:
        """Return the passwords of a user."""
        return self._passwords[user]

    def proof(self, user: str, password: str | None = None) -> ScramAuthenticator:
        """Return a proof of a user's name.

        Args:
            user: the name.
            password: None for the present one.
        """
        return ScramAuthenticator(SCRAM, user, self._passwords[user].present if password is None else password)

    def change_password(self, user: str) -> None:
        """Give a user another password, on all nodes and in the file of the client."""
        former = self._passwords[user].present
        present = _password(user, int(former.rpartition("-")[2]) + 1)
        self._passwords[user] = Passwords(present=present, former=former)
        self._write_passwords()

    def allow_guest(self, *, allows: bool) -> None:
        """Give the guest the right to append, or take it."""
        _replace(self.keys.rules_file, _rules(allows_guest=allows).encode())

    def spoil_certificate(self, node_id: int, content: bytes) -> None:
        """Write a file that a node cannot use as its certificate."""
        _replace(self._keystores[node_id], content)

    def replace_certificate(self, node_id: int) -> None:
        """Write a new certificate of a node."""
        path = self.keys.certificate(f"node{node_id}")
        assert path == self._keystores[node_id], "the node reads this file"

    def certificate_file(self, node_id: int) -> Path:
        """Return the file with the certificate of a node."""
        return self._keystores[node_id]

    def _write_passwords(self) -> None:
        credentials = Credentials()
        for user, passwords in self._passwords.items():
            made = ScramCredential.of_password(
                passwords.present, SCRAM, salt=os.urandom(16), iterations=LEAST_ITERATIONS
            )
            credentials = credentials.with_user(user, SCRAM, made)
        _replace(self.keys.credentials_file, credentials.to_text().encode())
        for user, passwords in self._passwords.items():
            _replace(self._folder / _file(user), passwords.present.encode())


def _password(user: str, number: int) -> str:
    return f"{PASSWORDS}{user}-{number}"


def _file(user: str) -> str:
    return f"{user}.password"


def _rules(*, allows_guest: bool) -> str:
    guest = f', "User:{GUEST}"' if allows_guest else ""
    return _RULES.format(application=APPLICATION, kafka=KAFKA, guest=guest)


def _replace(path: Path, content: bytes) -> None:
    """Replace a file at once, as an operator does: a node must not read a part of it."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.replace(path)


def endpoint_for_clients(properties: Mapping[str, str]) -> Endpoint:
    """Return where a node listens for clients, behind its proxy."""
    return endpoint_of(properties, CLIENT_LISTENER)
