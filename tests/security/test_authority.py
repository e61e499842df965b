"""A certificate authority of a quorum's own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import ExtendedKeyUsageOID

from raft.security.authority import Authority


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.create("an authority")


def issued(authority: Authority, *hosts: str, lifetime: timedelta = timedelta(days=1)) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(authority.issue("node1", hosts, lifetime=lifetime))


def names(certificate: x509.Certificate) -> list[str]:
    found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(each.value) for each in found]


def test_authority_signs_itself_and_may_sign_others(authority: Authority) -> None:
    certificate = authority.certificate

    certificate.verify_directly_issued_by(certificate)
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    usage = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    assert constraints.critical
    assert constraints.value == x509.BasicConstraints(ca=True, path_length=0)
    assert usage.critical
    assert usage.value.key_cert_sign
    assert not usage.value.digital_signature


def test_authority_is_valid_for_ten_years_unless_told_otherwise(authority: Authority) -> None:
    short = Authority.create("an authority", lifetime=timedelta(hours=1))

    assert authority.certificate.not_valid_after_utc - datetime.now(UTC) > timedelta(days=3649)
    assert short.certificate.not_valid_after_utc - datetime.now(UTC) <= timedelta(hours=1)


def test_authority_is_the_same_after_it_was_written(authority: Authority) -> None:
    again = Authority.from_pem(authority.to_pem())

    assert again.certificate == authority.certificate
    (leaf, _) = issued(again)
    leaf.verify_directly_issued_by(authority.certificate)


def test_certificate_of_an_authority_has_no_key(authority: Authority) -> None:
    assert b"PRIVATE" in authority.to_pem()
    assert b"PRIVATE" not in authority.certificate_pem()
    assert authority.certificate_pem() in authority.to_pem()


@pytest.mark.parametrize("content", [b"", b"\xff", b"-----BEGIN PRIVATE KEY-----"])
def test_text_that_is_no_authority_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Authority.from_pem(content)


def test_authority_without_certificate_is_refused(authority: Authority) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        Authority.from_pem(authority.to_pem().removesuffix(authority.certificate_pem()))


def test_key_of_another_kind_is_refused(authority: Authority) -> None:
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )

    with pytest.raises(ValueError, match=r"^expected a key of an elliptic curve$"):
        Authority.from_pem(other + authority.certificate_pem())


def test_issued_certificate_is_for_both_sides_of_a_connection(authority: Authority) -> None:
    leaf, chain = issued(authority)

    leaf.verify_directly_issued_by(authority.certificate)
    assert chain == authority.certificate
    assert leaf.subject.rfc4514_string() == "CN=node1"
    constraints = leaf.extensions.get_extension_for_class(x509.BasicConstraints)
    assert constraints.value == x509.BasicConstraints(ca=False, path_length=None)
    usage = leaf.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert set(usage) == {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert not leaf.extensions.get_extension_for_class(x509.KeyUsage).value.key_cert_sign


def test_issued_certificate_has_the_names_and_addresses_of_its_host(authority: Authority) -> None:
    leaf, _ = issued(authority, "node1.example", "127.0.0.1", "::1")

    assert names(leaf) == ["node1.example", "127.0.0.1", "::1"]
    kinds = [type(name) for name in leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value]
    assert kinds == [x509.DNSName, x509.IPAddress, x509.IPAddress]


def test_issued_certificate_without_hosts_has_no_names(authority: Authority) -> None:
    leaf, _ = issued(authority)

    with pytest.raises(x509.ExtensionNotFound):
        names(leaf)


def test_each_issued_certificate_has_its_own_key_and_number(authority: Authority) -> None:
    (one, _), (other, _) = issued(authority), issued(authority)

    assert one.serial_number != other.serial_number
    assert one.public_key() != other.public_key()


@pytest.mark.parametrize("lifetime", [timedelta(days=1), timedelta(0), timedelta(days=-1)], ids=str)
def test_certificate_begins_an_hour_earlier_because_clocks_differ(authority: Authority, lifetime: timedelta) -> None:
    leaf, _ = issued(authority, lifetime=lifetime)

    begin = leaf.not_valid_before_utc
    assert begin <= datetime.now(UTC) - timedelta(minutes=59)
    assert leaf.not_valid_after_utc - begin >= timedelta(hours=1)
