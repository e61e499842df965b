"""What the nodes and the clients of a quorum prove their names with, and who may do what, in files."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from pathlib import Path

from raft.config.security import ClientSecurity, SecurityProtocol, client_security, login_module
from raft.security.authority import Authority
from raft.security.credentials import LEAST_ITERATIONS, PEPPER_BYTES, SCRAM_MECHANISMS, Credentials, ScramCredential
from raft.security.sasl_client import PlainAuthenticator, ScramAuthenticator
from raft.wire.protection import Authenticator
from tests.node.harness.properties import HOST, Properties

SCRAM = "SCRAM-SHA-512"
NODES = ("node1", "node2", "node3")
USERS = ("alice", "bob")
RULES = """
[allow]
read = ["User:alice", "User:bob"]
append = ["User:alice"]

[allow.peer]
1 = ["User:node1"]
2 = ["User:node2"]
3 = ["User:node3"]
observers = ["User:mirror"]
"""
"""Bob reads, and does nothing else."""

_NAMES_OF_SUBJECTS = "RULE:^CN=(.*)$/$1/"
_YEAR = timedelta(days=365)


def password_of(user: str) -> str:
    """Return the password of a user or a node."""
    return f"secret-of-{user}"


@cache
def _credential(user: str, mechanism: str, password: str) -> ScramCredential:
    # Kept, because each one takes thousands of hashes.
    return ScramCredential.of_password(password, mechanism, salt=user.encode() * 4, iterations=LEAST_ITERATIONS)


class Keys:
    """The files of one quorum.

    Args:
        folder: holds them.

    Attributes:
        authority: issues the certificates that all sides trust.
        truststore: the file with its certificate.
        credentials_file: of SCRAM: that of every user and node.
        rules_file: who may do what.
    """

    def __init__(self, folder: Path, rules: str = RULES) -> None:
        self.folder = folder
        self.authority = Authority.create("tests")
        self.truststore = folder / "authority.pem"
        self.truststore.write_bytes(self.authority.certificate_pem())
        self.credentials_file = folder / "credentials.json"
        self.write_credentials((*NODES, *USERS, "mirror"))
        self.rules_file = folder / "authorization.toml"
        self.rules_file.write_text(rules)

    def write_credentials(self, users: Iterable[str]) -> None:
        """Write the file of credentials with these users alone."""
        credentials = Credentials(pepper=b"pepper".ljust(PEPPER_BYTES))
        for user in users:
            for mechanism in SCRAM_MECHANISMS:
                credentials = credentials.with_user(user, mechanism, _credential(user, mechanism, password_of(user)))
        self.credentials_file.write_text(credentials.to_text())

    def certificate(
        self,
        name: str,
        hosts: Iterable[str] = (HOST,),
        *,
        authority: Authority | None = None,
        lifetime: timedelta = _YEAR,
    ) -> Path:
        """Write a private key and its certificate; return the file, one for each subject, with and without hosts.

        Args:
            name: the common name of the subject.
            hosts: that the certificate is for.
            authority: issues it; None for that of the quorum.
            lifetime: how long it is valid; negative for one that has expired.
        """
        known = tuple(hosts)
        path = self.folder / f"{name}{'' if known else '-client'}.pem"
        path.write_bytes((authority or self.authority).issue(name, known, lifetime=lifetime))
        return path

    def tls(self, keystore: Path | None = None) -> ssl.SSLContext:
        """Return the TLS of a client that trusts the authority of the quorum.

        Args:
            keystore: of the client; None for one without a certificate.
        """
        context = ssl.create_default_context(cafile=self.truststore)
        if keystore is not None:
            context.load_cert_chain(keystore)
        return context

    def listener(
        self,
        name: str,
        protocol: SecurityProtocol,
        *,
        keystore: Path | None = None,
        mechanisms: Iterable[str] = (),
        needs_certificate: bool = False,
    ) -> Properties:
        """Return the keys of one listener, but for its entry in the map of protocols.

        Args:
            name: of the listener.
            protocol: of the listener.
            keystore: of the node.
            mechanisms: of SASL.
            needs_certificate: whether its clients need a certificate.
        """
        prefix = f"listener.name.{name.lower()}."
        properties: Properties = {}
        if protocol.uses_tls:
            properties[f"{prefix}ssl.keystore.location"] = str(keystore)
            properties[f"{prefix}ssl.truststore.location"] = str(self.truststore)
        if needs_certificate:
            properties[f"{prefix}ssl.client.auth"] = "required"
            properties[f"{prefix}ssl.principal.mapping.rules"] = _NAMES_OF_SUBJECTS
        if protocol.uses_sasl:
            properties[f"{prefix}sasl.enabled.mechanisms"] = ",".join(mechanisms)
        return properties

    def client(
        self,
        protocol: SecurityProtocol,
        user: str = "alice",
        *,
        mechanism: str = SCRAM,
        password: str | None = None,
        **others: str,
    ) -> ClientSecurity:
        """Return the settings of a client.

        Args:
            protocol: of the listener that it connects to.
            user: its name.
            mechanism: of SASL.
            password: of the user; None for the right one.
            others: further keys, with "__" for the dots; an empty value removes one.
        """
        properties: Properties = {"security.protocol": protocol.value}
        if protocol.uses_tls:
            properties["ssl.truststore.location"] = str(self.truststore)
        if protocol.uses_sasl:
            properties["sasl.mechanism"] = mechanism
            properties["sasl.jaas.config"] = jaas(mechanism, user, password)
        return client_security(properties | {key.replace("__", "."): value for key, value in others.items()})


def proof(user: str, mechanism: str = SCRAM, password: str | None = None) -> Authenticator:
    """Return the client's side of a proof by SASL; None for the right password."""
    given = password_of(user) if password is None else password
    return PlainAuthenticator(user, given) if mechanism == "PLAIN" else ScramAuthenticator(mechanism, user, given)


def jaas(mechanism: str, user: str, password: str | None = None, *, users: Iterable[str] = ()) -> str:
    """Return a value of `sasl.jaas.config`.

    Args:
        mechanism: of SASL.
        user: of the side that has it.
        password: of that user; None for the right one.
        users: those that a node with PLAIN accepts.
    """
    accepted = "".join(f' user_{each}="{password_of(each)}"' for each in users)
    given = password_of(user) if password is None else password
    return f'{login_module(mechanism)} required username="{user}" password="{given}"{accepted};'
