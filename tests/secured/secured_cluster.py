"""A cluster of Apache Kafka whose controller listens over SASL_SSL and over SSL, and asks who may fetch."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from raft.client import Client, ClientSettings
from raft.config.security import client_security, login_module
from raft.local.ports import free_ports
from raft.security.authority import Authority
from raft.types import Endpoint
from tests.java.cluster import CLUSTER_ID, KafkaServers
from tests.java.kafka import Kafka
from tests.java.observer import OBSERVER_ID, Observer
from tests.node.harness.properties import HOST, Properties, controller_properties

SERVER_ID = 3000
LISTENERS = {"CONTROLLER": "SASL_SSL", "MUTUAL": "SSL"}
"""The protocols by the names of the controller's listeners."""

_SERVER, _OBSERVER = "server", "observer"
"""The users."""


class SecuredCluster(KafkaServers):
    """One server, which is controller and broker.

    Args:
        kafka: the programs.
        folder: holds all files.

    Attributes:
        controllers: where the controller listens, by the name of the listener.
    """

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._passwords = {user: secrets.token_urlsafe(12) for user in (_SERVER, _OBSERVER)}
        authority = Authority.create("authority of the cluster")
        (folder / "authority.pem").write_bytes(authority.certificate_pem())
        for user in self._passwords:
            (folder / f"{user}.pem").write_bytes(authority.issue(user, [HOST]))
        broker, *controllers = (Endpoint(HOST, port) for port in free_ports(1 + len(LISTENERS)))
        self.controllers = dict(zip(LISTENERS, controllers, strict=True))
        super().__init__(kafka, folder, {"server": self._server(broker)}, broker=broker, standalone="server")

    def client(self, listener: str) -> Client:
        """Return a client of a listener, which is the observer."""
        properties = self._tls(_OBSERVER) | {"security.protocol": LISTENERS[listener]}
        if listener == "CONTROLLER":
            properties |= {"sasl.mechanism": "PLAIN", "sasl.jaas.config": self._jaas(_OBSERVER)}
        return Client(
            ClientSettings(
                bootstrap_servers=(self.controllers[listener],),
                api_timeout_ms=20_000,
                security=client_security(properties),
            )
        )

    @contextmanager
    def observer(self, listener: str, folder: Path) -> Iterator[Observer]:
        """Run a node of ours that observes the controller through one of its listeners; stop it at the end.

        Args:
            listener: its name.
            folder: gets the files of the node.
        """
        (port,) = free_ports(1)
        settings = self._tls(_OBSERVER) | {
            "cluster.id": CLUSTER_ID,
            "controller.quorum.bootstrap.servers": str(self.controllers[listener]),
            "listeners": f"{listener}://{HOST}:{port}",
            "controller.listener.names": listener,
            "listener.security.protocol.map": f"{listener}:{LISTENERS[listener]}",
            "super.users": f"User:{_OBSERVER}",
        }
        if listener == "CONTROLLER":
            settings |= self._sasl(_OBSERVER)
        properties = controller_properties(folder / "observer", node_id=OBSERVER_ID, port=port, settings=settings)
        with Observer(properties, folder / "process").start() as observer:
            yield observer
            observer.stop()

    def _server(self, broker: Endpoint) -> Properties:
        listeners = {"PLAINTEXT": broker, **self.controllers}
        protocols = {"PLAINTEXT": "PLAINTEXT", **LISTENERS}
        return {
            "process.roles": "broker,controller",
            "node.id": str(SERVER_ID),
            "listeners": ",".join(f"{name}://{endpoint}" for name, endpoint in listeners.items()),
            "controller.listener.names": ",".join(LISTENERS),
            "controller.quorum.bootstrap.servers": str(self.controllers["CONTROLLER"]),
            "listener.security.protocol.map": ",".join(map(":".join, protocols.items())),
            "log.dirs": str(self._folder / "log"),
            "offsets.topic.replication.factor": "1",
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.mutual.ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{_SERVER};User:{_OBSERVER};User:ANONYMOUS",
            **self._tls(_SERVER),
            **self._sasl(_SERVER),
        }

    def _tls(self, user: str) -> Properties:
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._folder / f"{user}.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._folder / "authority.pem"),
        }

    def _sasl(self, user: str) -> Properties:
        return {
            "sasl.mechanism.controller.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": self._jaas(user),
        }

    def _jaas(self, user: str) -> str:
        users = " ".join(f'user_{each}="{password}"' for each, password in self._passwords.items())
        return f'{login_module("PLAIN")} required username="{user}" password="{self._passwords[user]}" {users};'
