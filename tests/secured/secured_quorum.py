"""A quorum of `kraft serve` nodes that listens in every way that Kafka's clients know."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from raft.client import Client, ClientSettings
from raft.config.security import client_security, login_module
from raft.local.ports import free_ports
from raft.security.authority import Authority
from raft.types import Endpoint, Offset
from tests.metrics.http_client import ask
from tests.metrics.scraped import Scrape, port_of_metrics
from tests.node.harness.properties import HOST, SHORT_TIMEOUTS, Properties, quorum_properties
from tests.processes.kraft import kraft
from tests.processes.node_quorum import NodeQuorum
from tests.secured.access import Access
from tests.secured.ways import SCRAM, Way

APPLICATION, READER, WRITER, MONITOR, STRANGER = "application", "reader", "writer", "monitor", "stranger"
"""Users: one that may read and append, one that may only read, only append, or only describe, and one that may
nothing."""

_USERS = (APPLICATION, READER, WRITER, MONITOR, STRANGER)
_VOTERS = (1, 2, 3)
_LISTENERS = {
    "CONTROLLER": "SSL",
    "SASL_SSL": "SASL_SSL",
    "MUTUAL": "SSL",
    "SSL": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "BRIEF": "SASL_SSL",
}
"""The protocols, by the names of the listeners; the first one is that of the voters."""

SESSION_MS = 1500
"""How long a client of the listener BRIEF may go on without authenticating again."""

_RULES = f"""
[allow]
read = ["User:{APPLICATION}", "User:{READER}", "User:ANONYMOUS"]
append = ["User:{APPLICATION}", "User:{WRITER}", "User:ANONYMOUS"]
describe = ["User:{MONITOR}"]

[allow.peer]
"""


class SecuredQuorum(NodeQuorum):
    """Three voters, which know each other by their certificates, and their clients by any way of `ways.py`.

    Args:
        folder: gets all files of the nodes and of the clients.

    Attributes:
        authority: PEM file with the authority of all certificates.
        passwords: by the names of users.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._authority = Authority.create("authority of the tests")
        self.passwords = {user: secrets.token_urlsafe(12) for user in _USERS}
        self.authority = folder / "authority.pem"
        self.authority.write_bytes(self._authority.certificate_pem())
        self._credentials = folder / "credentials.json"
        self._rules = folder / "authorization.toml"
        self._rules.write_text(_RULES + "".join(f'{voter} = ["User:CN=node-{voter}"]\n' for voter in _VOTERS))
        for user, password in self.passwords.items():
            kraft("credentials", "add", str(self._credentials), user, stdin=f"{password}\n".encode()).require_success()
            # The nodes make the name of a user of CN=CLIENT-<name in upper case>.
            self._keystore(user).write_bytes(self._authority.issue(f"CLIENT-{user.upper()}"))
        super().__init__(folder, self._configurations())

    def access(self, way: Way, user: str = APPLICATION, *, password: str | None = None) -> Access:
        """Return what a client needs to connect.

        Args:
            way: how it connects.
            user: who it is.
            password: another one than that of the user.
        """
        return Access(
            servers=tuple(_endpoint(node.properties, way.listener) for node in self.nodes.values()),
            way=way,
            user=user,
            password=self.passwords[user] if password is None else password,
            truststore=self.authority,
            keystore=self._keystore(user),
        )

    def settings(self, *, api_timeout_ms: int = 60_000, request_timeout_ms: int = 2_000) -> ClientSettings:
        """See `NodeQuorum.settings`; the client is the application."""
        access = self.access(SCRAM)
        return ClientSettings(
            bootstrap_servers=access.servers,
            api_timeout_ms=api_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            security=client_security(access.properties()),
        )

    def end_offset(self) -> Offset:
        """Return the offset of the next record, while no client appends."""
        with Client(self.settings()) as client:
            return client.last_stable_offset()

    def total(self, metric: str, **labels: str) -> int:
        """Return the sum of a metric over all nodes."""
        scrapes = (Scrape(ask(port_of_metrics(node.properties), "/metrics").body) for node in self.nodes.values())
        return int(sum(scrape.value(metric, **labels) or 0 for scrape in scrapes))

    def _keystore(self, user: str) -> Path:
        return self._folder / f"{user}.pem"

    def _configurations(self) -> dict[int, Properties]:
        configurations = quorum_properties(self._folder, len(_VOTERS), SHORT_TIMEOUTS | self._shared())
        further = list(_LISTENERS)[1:]
        # All in one call, which returns different ports.
        ports = iter(free_ports(len(configurations) * (len(further) + 1)))
        for listener in further:
            endpoints = {node_id: Endpoint(HOST, next(ports)) for node_id in configurations}
            voters = ",".join(f"{node_id}@{endpoint}" for node_id, endpoint in endpoints.items())
            for node_id, properties in configurations.items():
                properties["listeners"] += f",{listener}://{endpoints[node_id]}"
                properties[f"listener.name.{listener.lower()}.quorum.voters"] = voters
        for node_id, properties in configurations.items():
            keystore = self._folder / f"node-{node_id}.pem"
            keystore.write_bytes(self._authority.issue(f"node-{node_id}", [HOST]))
            properties["ssl.keystore.location"] = str(keystore)
            properties["metrics.listeners"] = f"HTTP://{HOST}:{next(ports)}"
        return configurations

    def _shared(self) -> Properties:
        users = " ".join(f'user_{user}="{password}"' for user, password in self.passwords.items())
        plain = f"{login_module('PLAIN')} required {users};"
        return {
            "listener.security.protocol.map": ",".join(map(":".join, _LISTENERS.items())),
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "listener.name.controller.ssl.client.auth": "required",
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=CLIENT-(.*)$/$1/L",
            "listener.name.ssl.ssl.client.auth": "requested",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl_plaintext.sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": plain,
            "listener.name.brief.plain.sasl.jaas.config": plain,
            "listener.name.brief.connections.max.reauth.ms": str(SESSION_MS),
            "raft.scram.credentials.file": str(self._credentials),
            "raft.authorization.file": str(self._rules),
        }


def _endpoint(properties: Mapping[str, str], listener: str) -> Endpoint:
    endpoints = dict(each.split("://") for each in properties["listeners"].split(","))
    host, _, port = endpoints[listener].rpartition(":")
    return Endpoint(host, int(port))
