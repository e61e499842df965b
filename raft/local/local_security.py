"""The security of a local quorum: credentials and certificates of its own, made at its first start.

Only the user who started the quorum can read them: they are in its data directory, which has mode 0700.

    secrets.json           the passwords of the voters and of the application, random, kept for later starts
    authority.pem          the quorum's own certificate authority, if it listens beyond loopback
    credentials.json       what the voters check passwords with
    authorization.toml     who may do what
    client.properties      what a client of the quorum needs, in the form of Kafka's clients
    node-N/node.pem        the certificate of a voter, if the quorum listens beyond loopback

The last four are written at each start. On loopback only the administrator of the machine sees the bytes of a
connection, so SCRAM without TLS is enough there. Beyond it, connections use TLS as well.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from raft.config.security import ClientSecurity, client_security, login_module
from raft.errors import ConfigError
from raft.local.layout import Layout
from raft.properties import format_properties
from raft.security.authority import Authority
from raft.security.credentials import LEAST_ITERATIONS, SALT_BYTES, Credentials, ScramCredential
from raft.storage.atomic_file import replace_file
from raft.storage.disk import DiskFiles, make_private_folder
from raft.types import NodeId

CLIENT_FILE = "client.properties"

_SECRETS = "secrets.json"
_AUTHORITY = "authority.pem"
_CREDENTIALS = "credentials.json"
_RULES = "authorization.toml"
_CERTIFICATE = "node.pem"

_APPLICATION = "application"
_MECHANISM = "SCRAM-SHA-256"
_PASSWORD_BYTES = 32
"""Passwords are random, so they cannot be found by trying, and more iterations than the least would add nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSecurity:
    """How the voters of a local quorum, and its clients, know each other.

    Fields:
        layout: of the quorum.
        passwords: by the names of users.
        authority: the quorum's own; None on loopback.
    """

    layout: Layout
    passwords: Mapping[str, str] = field(repr=False)
    authority: Authority | None

    @classmethod
    def of(cls, layout: Layout) -> LocalSecurity:
        """Return the security of a quorum, with the secrets of its first start, and write the files of this start.

        Args:
            layout: of the quorum, whose data directory exists.

        Raises:
            ConfigError: the directory has secrets of another form.
            StorageError: the disk returned an error.
        """
        files = DiskFiles(layout.data_dir)
        users = [_APPLICATION, *(_user(node_id) for node_id in layout.ports)]
        security = cls(
            layout=layout,
            passwords=_passwords(files, users),
            authority=None if layout.listen.is_loopback else _authority(files),
        )
        security._write(files)
        return security

    def client_properties(self) -> dict[str, str]:
        """Return the properties of a client of the quorum."""
        properties = {
            "security.protocol": self._protocol,
            "sasl.mechanism": _MECHANISM,
            "sasl.jaas.config": self._jaas(_APPLICATION),
        }
        if self.authority is not None:
            properties["ssl.truststore.type"] = "PEM"
            properties["ssl.truststore.certificates"] = self.authority.certificate_pem().decode()
        return properties

    def client(self) -> ClientSecurity:
        """Return the same as settings."""
        return client_security(self.client_properties())

    def voter_properties(self, node_id: NodeId) -> dict[str, str]:
        """Return the properties of a voter."""
        mechanism = _MECHANISM.lower()
        folder = self.layout.data_dir
        properties = {
            "listener.security.protocol.map": f"CONTROLLER:SASL_PLAINTEXT,CLIENT:{self._protocol}",
            "sasl.enabled.mechanisms": _MECHANISM,
            "sasl.mechanism.controller.protocol": _MECHANISM,
            f"listener.name.controller.{mechanism}.sasl.jaas.config": self._jaas(_user(node_id)),
            "raft.scram.credentials.file": str(folder / _CREDENTIALS),
            "raft.authorization.file": str(folder / _RULES),
        }
        if self.authority is not None:
            properties["ssl.keystore.type"] = "PEM"
            properties["ssl.keystore.location"] = str(self.layout.folder(node_id) / _CERTIFICATE)
        return properties

    @property
    def _protocol(self) -> str:
        return "SASL_PLAINTEXT" if self.authority is None else "SASL_SSL"

    def _jaas(self, user: str) -> str:
        return f'{login_module(_MECHANISM)} required username="{user}" password="{self.passwords[user]}";'

    def _write(self, files: DiskFiles) -> None:
        credentials = Credentials()
        for user, password in self.passwords.items():
            made = ScramCredential.of_password(
                password, _MECHANISM, salt=secrets.token_bytes(SALT_BYTES), iterations=LEAST_ITERATIONS
            )
            credentials = credentials.with_user(user, _MECHANISM, made)
        replace_file(files, _CREDENTIALS, credentials.to_text().encode())
        replace_file(files, _RULES, _rules(self.layout).encode())
        properties = {"bootstrap.servers": self.layout.bootstrap_servers, **self.client_properties()}
        replace_file(files, CLIENT_FILE, format_properties(properties).encode())
        if self.authority is None:
            return
        hosts = dict.fromkeys((self.layout.listen.advertised, self.layout.listen.bind))
        for node_id in self.layout.ports:
            folder = self.layout.folder(node_id)
            make_private_folder(folder)
            replace_file(DiskFiles(folder), _CERTIFICATE, self.authority.issue(_user(node_id), hosts))


def _user(node_id: NodeId) -> str:
    return f"node-{node_id}"


def _passwords(files: DiskFiles, users: list[str]) -> dict[str, str]:
    if files.exists(_SECRETS):
        try:
            passwords = json.loads(files.read(_SECRETS))["passwords"]
            found = {user: passwords[user] for user in users}
        except (ValueError, KeyError, TypeError):
            found = {}
        if not found or not all(isinstance(password, str) and password for password in found.values()):
            raise ConfigError(
                f"{files.path_of(_SECRETS)} is damaged: expected the passwords of {', '.join(users)}. Remove it, and "
                "the next start makes new ones"
            )
        return found
    passwords = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in users}
    replace_file(files, _SECRETS, f"{json.dumps({'passwords': passwords}, indent=2)}\n".encode())
    return passwords


def _authority(files: DiskFiles) -> Authority:
    if files.exists(_AUTHORITY):
        try:
            return Authority.from_pem(files.read(_AUTHORITY))
        except ValueError as error:
            raise ConfigError(
                f"{files.path_of(_AUTHORITY)} is damaged: expected a certificate authority and its key. Remove it, and "
                "the next start makes a new one"
            ) from error
    authority = Authority.create("kraft-spark")
    replace_file(files, _AUTHORITY, authority.to_pem())
    return authority


def _rules(layout: Layout) -> str:
    application = f'["User:{_APPLICATION}"]'
    voters = "".join(f'{node_id} = ["User:{_user(node_id)}"]\n' for node_id in layout.ports)
    return (
        f"[allow]\nread = {application}\nappend = {application}\ndescribe = {application}\n\n"
        f"[allow.peer]\nobservers = {application}\n{voters}"
    )
