"""Three voters of this checkout whose connections use TLS, with a certificate on each side, and which have rules."""

from __future__ import annotations

from pathlib import Path

from benchmarks.servers.quorum import Quorum
from raft.client import ClientSettings
from raft.config.security import client_security
from raft.security.authority import Authority
from tests.node.harness.properties import HOST, Properties

_CLIENT = "client"


class TlsQuorum(Quorum):
    """The voters; see `Quorum`."""

    @property
    def client_properties(self) -> dict[str, str]:
        """See `Quorum.client_properties`."""
        return {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(self._authority),
            "ssl.keystore.location": str(self._certificate),
        }

    @property
    def load_arguments(self) -> dict[str, str]:
        """See `Quorum.load_arguments`."""
        return {"certificate": str(self._certificate), "authority": str(self._authority)}

    def settings(self, *, api_timeout_ms: int = 60_000, request_timeout_ms: int = 2_000) -> ClientSettings:
        """See `NodeQuorum.settings`."""
        return ClientSettings(
            bootstrap_servers=self.endpoints,
            api_timeout_ms=api_timeout_ms,
            request_timeout_ms=request_timeout_ms,
            security=client_security(self.client_properties),
        )

    def _configurations(self, folder: Path) -> dict[int, Properties]:
        authority = Authority.create("benchmarks")
        self._authority, self._certificate = folder / "authority.pem", folder / "client.pem"
        self._authority.write_bytes(authority.certificate_pem())
        self._certificate.write_bytes(authority.issue(_CLIENT))
        configurations = super()._configurations(folder)
        rules = folder / "authorization.toml"
        voters = "".join(f'{node_id} = ["User:node-{node_id}"]\n' for node_id in configurations)
        rules.write_text(f'[allow]\nread = ["User:{_CLIENT}"]\nappend = ["User:{_CLIENT}"]\n[allow.peer]\n{voters}')
        for node_id, properties in configurations.items():
            keystore = folder / f"node-{node_id}.pem"
            keystore.write_bytes(authority.issue(f"node-{node_id}", [HOST]))
            properties |= {
                "listener.security.protocol.map": "CONTROLLER:SSL",
                "ssl.keystore.location": str(keystore),
                "ssl.truststore.location": str(self._authority),
                "ssl.client.auth": "required",
                "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/",
                "raft.authorization.file": str(rules),
            }
        return configurations
