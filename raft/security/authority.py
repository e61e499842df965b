"""A certificate authority of a quorum's own, and the certificates that it issues.

It is for quorums that have no other one: those beside a driver, and those of tests.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_CLOCKS_DIFFER_BY = timedelta(hours=1)
_DEFAULT_LIFETIME = timedelta(days=3650)


@dataclass(frozen=True, slots=True, kw_only=True)
class Authority:
    """An authority.

    Fields:
        certificate: of the authority.
        key: its private key.
    """

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, name: str, lifetime: timedelta = _DEFAULT_LIFETIME) -> Authority:
        """Return a new authority.

        Args:
            name: of the authority.
            lifetime: how long its certificate is valid.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _subject(name)
        certificate = (
            _builder(subject, subject, key, lifetime)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_key_usage(of_authority=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        return cls(certificate=certificate, key=key)

    @classmethod
    def from_pem(cls, pem: bytes) -> Authority:
        """Return the authority that `to_pem` wrote.

        Raises:
            ValueError: it has another form.
        """
        key = serialization.load_pem_private_key(pem, password=None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("expected a key of an elliptic curve")  # noqa: TRY004 - the text is wrong, not a type
        return cls(certificate=x509.load_pem_x509_certificate(pem), key=key)

    def to_pem(self) -> bytes:
        """Return the private key and the certificate."""
        return _key_pem(self.key) + self.certificate_pem()

    def certificate_pem(self) -> bytes:
        """Return the certificate, which all sides trust."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    def issue(self, name: str, hosts: Iterable[str] = (), *, lifetime: timedelta = _DEFAULT_LIFETIME) -> bytes:
        """Return a new private key and its certificate, as PEM.

        Args:
            name: the common name of the subject.
            hosts: the names and addresses of the host that the certificate is for.
            lifetime: how long it is valid.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = (
            _builder(_subject(name), self.certificate.subject, key, lifetime)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_key_usage(of_authority=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
        )
        names = [_general_name(host) for host in hosts]
        if names:
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        return _key_pem(key) + certificate.public_bytes(serialization.Encoding.PEM) + self.certificate_pem()


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: timedelta
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(min(now, now + lifetime) - _CLOCKS_DIFFER_BY)
        .not_valid_after(now + lifetime)
    )


def _key_usage(*, of_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not of_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=of_authority,
        crl_sign=of_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _general_name(host: str) -> x509.GeneralName:
    address: IPv4Address | IPv6Address
    try:
        address = ip_address(host)
    except ValueError:
        return x509.DNSName(host)
    return x509.IPAddress(address)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
