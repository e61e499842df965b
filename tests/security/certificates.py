"""Private keys and certificates for tests, also such as no authority issues, in files of a directory.

`raft.security.authority` makes certificates that are valid now. Those of other dates, of no authority and with
encrypted keys are made here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from ssl import DER_cert_to_PEM_cert

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from raft.config.listener_security import ClientAuth
from raft.config.secret import Secret
from raft.config.security import TlsSettings
from raft.security.authority import Authority
from raft.security.tls_contexts import TlsContexts

HOST = "node1.example"
DAY = timedelta(days=1)

PRIVATE_KEY = ec.generate_private_key(ec.SECP256R1())
"""Of certificates that are made here; a new key for each of them would take time and prove nothing."""


def name_of(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def key_pem(password: str | None = None) -> bytes:
    """The private key, encrypted if there is a password."""
    encryption: serialization.KeySerializationEncryption = (
        serialization.NoEncryption() if password is None else serialization.BestAvailableEncryption(password.encode())
    )
    return PRIVATE_KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def certificate(
    subject: x509.Name,
    authority: Authority | None = None,
    *,
    hosts: Sequence[str] = (HOST,),
    begins_in: timedelta = -DAY,
    ends_in: timedelta = DAY,
) -> x509.Certificate:
    """A certificate of the private key above; signed by that key itself if there is no authority."""
    now = datetime.now(UTC)
    names: list[x509.GeneralName] = []
    for host in hosts:
        names.append(x509.DNSName(host) if host[-1].isalpha() else x509.IPAddress(ip_address(host)))
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.certificate.subject)
        .public_key(PRIVATE_KEY.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + begins_in)
        .not_valid_after(now + ends_in)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .sign(PRIVATE_KEY if authority is None else authority.key, hashes.SHA256())
    )


def with_bits_as_name(authority: Authority) -> bytes:
    """A keystore whose certificate has a common name that is no text: `cryptography` raises TypeError for it.

    It is signed by the authority, and OpenSSL accepts it.
    """
    made = certificate(name_of("nodeX"), authority)
    text, bits = b"\x0c\x05nodeX", b"\x03\x05\x00odeX"
    changed = made.tbs_certificate_bytes.replace(text, bits)
    assert changed != made.tbs_certificate_bytes
    signature = authority.key.sign(changed, ec.ECDSA(hashes.SHA256()))
    ecdsa_with_sha256 = bytes.fromhex("300a06082a8648ce3d040302")
    der = _element(0x30, changed + ecdsa_with_sha256 + _element(0x03, b"\0" + signature))
    return key_pem() + DER_cert_to_PEM_cert(der).encode()


def _element(tag: int, content: bytes) -> bytes:
    """A value of DER with its tag and its length."""
    size = len(content)
    length = bytes([size]) if size < 0x80 else bytes([0x82]) + size.to_bytes(2, "big")
    return bytes([tag]) + length + content


def pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """An authority and the certificates that it issues, in files.

    Fields:
        folder: that has the files.
        authority: signs the certificates.
    """

    folder: Path
    authority: Authority

    @classmethod
    def create(cls, folder: Path) -> Files:
        files = cls(folder=folder, authority=Authority.create("authority of the tests"))
        files.write("authority", files.authority.certificate_pem())
        files.write("node", files.authority.issue("node1", [HOST, "127.0.0.1", "::1"]))
        files.write("client", files.authority.issue("client1"))
        return files

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def write(self, name: str, content: bytes) -> str:
        """Write a file; return its path."""
        self.path(name).write_bytes(content)
        return str(self.path(name))

    def settings(
        self,
        keystore: str | None = None,
        *,
        truststore: str | None = "authority",
        password: str | None = None,
        verifies_host: bool = True,
        versions: tuple[str, ...] = ("TLSv1.2", "TLSv1.3"),
    ) -> TlsSettings:
        """Settings that name files of this directory."""
        return TlsSettings(
            keystore=None if keystore is None else str(self.path(keystore)),
            truststore=None if truststore is None else str(self.path(truststore)),
            key_password=None if password is None else Secret(password),
            verifies_host=verifies_host,
            versions=versions,
        )

    def node(self, keystore: str = "node", client_auth: ClientAuth = ClientAuth.NONE) -> TlsContexts:
        """The side of a node."""
        return TlsContexts(self.settings(keystore), client_auth)

    def client(self, keystore: str | None = None) -> TlsContexts:
        """The side of a client."""
        return TlsContexts(self.settings(keystore), None)
