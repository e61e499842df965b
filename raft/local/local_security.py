"""The security of a local quorum: credentials and certificates of its own, made at its first start.

Only the user who started the quorum can read them: they are in its data directory, which has mode 0700.

    secrets.json           the password of the application, random, kept for later starts
    authority.pem          the quorum's own certificate authority, kept too
    trusted.pem            its certificate alone
    credentials.json       what the voters check the password with
    authorization.toml     who may do what
    client.properties      what a client of the quorum needs, in the form of Kafka's clients
    node-N/node.pem        the certificate of a voter

The last five are written at each start. Voters know each other by their certificates, and clients prove their name by
SCRAM over TLS. Loopback needs TLS as well: another user of the machine can listen on the port of a voter that is down,
and could pass the messages of SCRAM on to a voter that runs. The connection would be authenticated then, and his.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass, field

from raft.config.security import ClientSecurity, client_security, login_module
from raft.errors import ConfigError
from raft.local.layout import Layout
from raft.properties import format_properties
from raft.security.authority import Authority
from raft.security.credentials import LEAST_ITERATIONS, PEPPER_BYTES, SALT_BYTES, Credentials, ScramCredential
from raft.storage.atomic_file import replace_file
from raft.storage.disk import DiskFiles, make_private_folder
from raft.types import NodeId

CLIENT_FILE = "client.properties"

_SECRETS = "secrets.json"
_AUTHORITY = "authority.pem"
_TRUSTED = "trusted.pem"
_CREDENTIALS = "credentials.json"
_RULES = "authorization.toml"
_CERTIFICATE = "node.pem"

_APPLICATION = "application"
_MECHANISM = "SCRAM-SHA-256"
_ON_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_NAMES_OF_SUBJECTS = "RULE:^CN=([^,]+)$/$1/"
_PASSWORD_BYTES = 32
"""The password is random, so it cannot be found by trying, and more iterations than the least would add nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSecurity:
    """How the voters of a local quorum, and its clients, know each other.

    Fields:
        layout: of the quorum.
        password: of the application.
        authority: the quorum's own.
    """

    layout: Layout
    password: str = field(repr=False)
    authority: Authority = field(repr=False)

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
        security = cls(layout=layout, password=_password(files), authority=_authority(files))
        security._write(files)
        return security

    def client_properties(self) -> dict[str, str]:
        """Return the properties of a client of the quorum."""
        jaas = f'{login_module(_MECHANISM)} required username="{_APPLICATION}" password="{self.password}";'
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": _MECHANISM,
            "sasl.jaas.config": jaas,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.certificates": self.authority.certificate_pem().decode(),
        }

    def client(self) -> ClientSecurity:
        """Return the same as settings."""
        return client_security(self.client_properties())

    def voter_properties(self, node_id: NodeId) -> dict[str, str]:
        """Return the properties of a voter."""
        folder = self.layout.data_dir
        return {
            "listener.security.protocol.map": "CONTROLLER:SSL,CLIENT:SASL_SSL",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.layout.folder(node_id) / _CERTIFICATE),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(folder / _TRUSTED),
            "listener.name.controller.ssl.client.auth": "required",
            "listener.name.controller.ssl.principal.mapping.rules": _NAMES_OF_SUBJECTS,
            "listener.name.client.sasl.enabled.mechanisms": _MECHANISM,
            "raft.scram.credentials.file": str(folder / _CREDENTIALS),
            "raft.authorization.file": str(folder / _RULES),
        }

    def _write(self, files: DiskFiles) -> None:
        made = ScramCredential.of_password(
            self.password, _MECHANISM, salt=secrets.token_bytes(SALT_BYTES), iterations=LEAST_ITERATIONS
        )
        credentials = Credentials(pepper=secrets.token_bytes(PEPPER_BYTES)).with_user(_APPLICATION, _MECHANISM, made)
        replace_file(files, _TRUSTED, self.authority.certificate_pem())
        replace_file(files, _CREDENTIALS, credentials.to_text().encode())
        replace_file(files, _RULES, _rules(self.layout).encode())
        properties = {"bootstrap.servers": self.layout.bootstrap_servers, **self.client_properties()}
        replace_file(files, CLIENT_FILE, format_properties(properties).encode())

    def write_certificates(self) -> None:
        """Write the certificate of each voter into its folder.

        Raises:
            StorageError: the disk returned an error.
        """
        hosts = dict.fromkeys((self.layout.listen.advertised, self.layout.listen.bind, *_ON_LOOPBACK))
        for node_id in self.layout.ports:
            folder = self.layout.folder(node_id)
            make_private_folder(folder)
            replace_file(DiskFiles(folder), _CERTIFICATE, self.authority.issue(_user(node_id), hosts))


def _user(node_id: NodeId) -> str:
    return f"node-{node_id}"


def _password(files: DiskFiles) -> str:
    if files.exists(_SECRETS):
        try:
            password = json.loads(files.read(_SECRETS))["passwords"][_APPLICATION]
        except (ValueError, KeyError, TypeError):
            password = None
        if not isinstance(password, str) or not password:
            raise ConfigError(
                f"{files.path_of(_SECRETS)} is damaged: expected the password of {_APPLICATION}. Remove it, and the "
                "next start makes a new one"
            )
        return password
    password = secrets.token_urlsafe(_PASSWORD_BYTES)
    replace_file(files, _SECRETS, f"{json.dumps({'passwords': {_APPLICATION: password}}, indent=2)}\n".encode())
    return password


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
