"""Secrets that an application of Spark gets by references, the users that have them, and the options with them."""

from __future__ import annotations

import secrets
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from raft.config.security import login_module
from raft.properties import format_properties
from tests.processes.kraft import kraft
from tests.secured.access import Access
from tests.secured.secured_quorum import APPLICATION, READER, SecuredQuorum
from tests.secured.ways import MUTUAL, PLAIN, SCRAM, Way

Options = dict[str, str]

CONTROL = "control-of-the-search"
"""A text that is planted in the places where secrets are searched for, and the name of a user that may do nothing."""

SERVERS = "kraft.bootstrap.servers"
SCRAM_256 = replace(SCRAM, mechanism="SCRAM-SHA-256")

VARIABLE, JAAS_VARIABLE = "KRAFT_PASSWORD", "KRAFT_SECRET_JAAS"
"""Environment variables: a password; and a user with its password, which is another one on executors. Spark hides the
values of properties with such names.
"""

AUTHORITY, KEYSTORE, PROPERTIES, TOKEN = "authority.pem", "client.pem", "secrets.properties", "token"
"""The files that Spark brings to each process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """What was planted.

    Fields:
        secrets: by their names. Those of `ways` refer to one of the same name. The nodes refuse "wrong", and "control"
            is that of the user `CONTROL`.
        literals: passwords that options have as they are.
        folder: of the files for Spark.
        ways: the options of reads and writes.
        literal_options: the options of reads, by the names of the literals that they have.
        variables: the environment of the driver.
        executor_variables: the environment of the executor.
    """

    secrets: dict[str, str]
    literals: dict[str, str]
    folder: Path
    ways: dict[str, Options]
    literal_options: dict[str, Options]
    variables: dict[str, str]
    executor_variables: dict[str, str]

    @property
    def files(self) -> list[Path]:
        """The files for Spark."""
        return sorted(self.folder.iterdir())


def plant(quorum: SecuredQuorum, folder: Path) -> Planted:
    """Give users new passwords, and write the files for Spark.

    Args:
        quorum: it runs, and its nodes read new passwords within a second.
        folder: of the quorum.
    """
    made = {name: _new_secret() for name in ("environment", "file", "key", "wrong", "control")}
    literals = {"statement": _new_secret(), "option": quorum.access(PLAIN, READER).password}
    for user, password, way in (
        (APPLICATION, made["environment"], SCRAM),
        (APPLICATION, made["file"], SCRAM_256),
        (CONTROL, made["control"], SCRAM_256),
        (READER, literals["statement"], SCRAM),
    ):
        change_password(folder, user, password, way)
    made["directory"] = quorum.access(PLAIN).password
    return Planted(
        secrets=made,
        literals=literals,
        folder=_written_files(quorum, folder / "files", made),
        ways={
            "environment": options_of(quorum.access(SCRAM, password=f"${{env:{VARIABLE}}}")),
            "file": options_of(quorum.access(SCRAM_256, password=reference_to("password"))),
            "directory": options_of(quorum.access(PLAIN, password=f"${{directory:.:{TOKEN}}}")),
            "key": options_of(quorum.access(MUTUAL)) | {"kraft.ssl.key.password": reference_to("key.password")},
        },
        literal_options={
            "option": options_of(quorum.access(PLAIN, READER)),
            "statement": options_of(quorum.access(SCRAM, READER, password=literals["statement"])),
        },
        variables={VARIABLE: made["environment"], JAAS_VARIABLE: _jaas(APPLICATION, made["file"])},
        executor_variables={VARIABLE: made["environment"], JAAS_VARIABLE: _jaas(CONTROL, made["control"])},
    )


def options_of(access: Access) -> Options:
    """Return the options of the connector, with relative locations of the files."""
    options = {f"kraft.{key}": value for key, value in access.properties().items()}
    for key, name in (("kraft.ssl.truststore.location", AUTHORITY), ("kraft.ssl.keystore.location", KEYSTORE)):
        if key in options:
            options[key] = name
    return options | {SERVERS: access.bootstrap_servers}


def reference_to(key: str) -> str:
    """Return a reference to a key of the file of properties."""
    return f"${{file:{PROPERTIES}:{key}}}"


def change_password(folder: Path, user: str, password: str, way: Way) -> None:
    """Change the password of a user for one mechanism of SCRAM, or add the user.

    Args:
        folder: of the quorum.
        user: the user.
        password: the new one.
        way: has the mechanism.
    """
    file, mechanism = str(folder / "credentials.json"), str(way.mechanism)
    kraft("credentials", "add", file, user, "--mechanism", mechanism, stdin=f"{password}\n".encode()).require_success()


def with_password(pem: bytes, password: str) -> bytes:
    """Return a private key and its certificates with the key encrypted."""
    key = serialization.load_pem_private_key(pem, password=None)
    encrypted = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password.encode()),
    )
    return encrypted + pem[pem.index(b"-----BEGIN CERTIFICATE") :]


def _written_files(quorum: SecuredQuorum, files: Path, made: dict[str, str]) -> Path:
    files.mkdir(mode=0o700)
    shutil.copy(quorum.authority, files / AUTHORITY)
    (files / TOKEN).write_text(made["directory"])
    (files / KEYSTORE).write_bytes(with_password(quorum.access(MUTUAL).keystore.read_bytes(), made["key"]))
    properties = {"password": made["file"], "key.password": made["key"], "wrong": made["wrong"]}
    (files / PROPERTIES).write_text(format_properties(properties))
    return files


def _new_secret() -> str:
    return f"planted-{secrets.token_hex(12)}"


def _jaas(user: str, password: str) -> str:
    return f'{login_module(str(SCRAM_256.mechanism))} required username="{user}" password="{password}";'
