"""What a client needs to connect, in the words of each program."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.helpers import create_ssl_context

from raft.config.security import login_module
from raft.properties import format_properties
from raft.types import Endpoint
from tests.secured.ways import Way

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """The settings of one client.

    Fields:
        servers: the endpoints of the listener on all nodes.
        way: how it connects.
        user: its name for SASL.
        password: its password for SASL.
        truststore: PEM file with the authority that it trusts.
        keystore: PEM file with its private key and certificate.
        tls_version: the only one that it accepts; None for all. librdkafka has no such setting.
    """

    servers: tuple[Endpoint, ...]
    way: Way
    user: str
    password: str = field(repr=False)
    truststore: Path
    keystore: Path
    tls_version: str | None = None

    @property
    def bootstrap_servers(self) -> str:
        """The endpoints as the option of a client: host:port,..."""
        return ",".join(map(str, self.servers))

    def properties(self) -> dict[str, str]:
        """Return the properties of Kafka's Java clients, which are those of ours."""
        properties = {"security.protocol": self.way.protocol.value}
        if self.way.protocol.uses_tls:
            properties |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.truststore)}
        if self.tls_version is not None:
            properties["ssl.enabled.protocols"] = self.tls_version
        if self.way.has_certificate:
            properties |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.keystore)}
        if self.way.mechanism is not None:
            jaas = f'{login_module(self.way.mechanism)} required username="{self.user}" password="{self.password}";'
            properties |= {"sasl.mechanism": self.way.mechanism, "sasl.jaas.config": jaas}
        return properties

    def write(self, path: Path, **others: str) -> Path:
        """Write the file of `--command-config`, with other properties if there are any; return its path.

        Args:
            path: of the file.
            others: further keys, with "__" for the dots.
        """
        further = {name.replace("__", "."): value for name, value in others.items()}
        path.write_text(format_properties(self.properties() | further))
        return path

    def librdkafka(self) -> dict[str, object]:
        """Return the settings of librdkafka."""
        settings: dict[str, object] = {"security.protocol": self.way.protocol.value}
        if self.way.protocol.uses_tls:
            settings["ssl.ca.location"] = str(self.truststore)
        if self.way.has_certificate:
            settings |= {"ssl.certificate.location": str(self.keystore), "ssl.key.location": str(self.keystore)}
        if self.way.mechanism is not None:
            settings |= {
                "sasl.mechanism": self.way.mechanism,
                "sasl.username": self.user,
                "sasl.password": self.password,
            }
        return settings

    def aiokafka(self) -> dict[str, object]:
        """Return the arguments of aiokafka's classes."""
        arguments: dict[str, object] = {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": self.way.protocol.value,
        }
        if self.way.protocol.uses_tls:
            certificate = str(self.keystore) if self.way.has_certificate else None
            context = create_ssl_context(cafile=str(self.truststore), certfile=certificate)
            if self.tls_version is not None:
                context.minimum_version = context.maximum_version = _VERSIONS[self.tls_version]
            arguments["ssl_context"] = context
        if self.way.mechanism is not None:
            arguments |= {
                "sasl_mechanism": self.way.mechanism,
                "sasl_plain_username": self.user,
                "sasl_plain_password": self.password,
            }
        return arguments
