"""The subjects of certificates as text: the table holds what Java's X500Principal.getName returns for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.x509.name import _ASN1Type as Asn1
from cryptography.x509.oid import NameOID

from raft.errors import AuthenticationError
from raft.security.authority import Authority
from raft.security.subjects import subject_of
from tests.security.certificates import certificate, with_bits_as_name

CN = NameOID.COMMON_NAME


def subject(*parts: list[x509.NameAttribute[str]]) -> str:
    """The subject of a certificate with these parts, as text."""
    name = x509.Name([x509.RelativeDistinguishedName(part) for part in parts])
    return subject_of(certificate(name).public_bytes(serialization.Encoding.DER))


def attribute(value: str | bytes, oid: x509.ObjectIdentifier = CN, kind: Asn1 | None = None) -> x509.NameAttribute[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return x509.NameAttribute(oid, value, _type=kind, _validate=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("n", "n"),
        ("a=b#c", r"a\=b\#c"),
        (',+"\\<>; x', r"\,\+\"\\\<\>\; x"),
        ("#a", r"\#a"),
        ("  a b  ", r"\ \ a b\ \ "),
        ("   ", r"\ \ \ "),
        ("\ra\r", "\\\ra\\\r"),
        ("\na\tb\n", "\na\tb\n"),
        ("a\0b", r"a\00b"),
        ("é 日本 \U0001f600", "é 日本 \U0001f600"),
        ("admin,O=Example", r"admin\,O\=Example"),
    ],
)
def test_value_is_escaped_as_by_java(value: str, text: str) -> None:
    assert subject([attribute(value)]) == f"CN={text}"


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (Asn1.UTF8String, "ab", "CN=ab"),
        (Asn1.PrintableString, "ab", "CN=ab"),
        (Asn1.IA5String, "ab", "CN=ab"),
        (Asn1.T61String, "ab", "CN=ab"),
        (Asn1.NumericString, "12", "CN=#12023132"),
        (Asn1.VisibleString, "ab", "CN=#1a026162"),
        (Asn1.UniversalString, "ab", "CN=#1c080000006100000062"),
        pytest.param(Asn1.BMPString, "ab,é", r"CN=ab\,é", id="BMPString, which Java reads as if it were UTF-8"),
    ],
    ids=lambda value: value.name if isinstance(value, Asn1) else None,
)
def test_value_of_each_kind_is_that_of_java(kind: Asn1, value: str, text: str) -> None:
    assert subject([attribute(value, kind=kind)]) == text


def test_parts_are_in_reversed_order() -> None:
    country = attribute("DE", NameOID.COUNTRY_NAME)
    organization = attribute("Org", NameOID.ORGANIZATION_NAME)

    assert subject([country], [organization], [attribute("n")]) == "CN=n,O=Org,C=DE"


def test_part_of_several_attributes_keeps_their_order() -> None:
    unit, user = attribute("y", NameOID.ORGANIZATIONAL_UNIT_NAME), attribute("z", NameOID.USER_ID)

    assert subject([attribute("x"), unit, user], [attribute("l", NameOID.LOCALITY_NAME)]) == "L=l,CN=x+OU=y+UID=z"


def test_attributes_that_java_knows_have_short_names() -> None:
    known = (
        *(NameOID.COMMON_NAME, NameOID.LOCALITY_NAME, NameOID.STATE_OR_PROVINCE_NAME, NameOID.ORGANIZATION_NAME),
        *(NameOID.ORGANIZATIONAL_UNIT_NAME, NameOID.COUNTRY_NAME, NameOID.STREET_ADDRESS, NameOID.DOMAIN_COMPONENT),
        NameOID.USER_ID,
    )

    text = subject(*([attribute("vv", oid)] for oid in known))

    assert text == "UID=vv,DC=vv,STREET=vv,C=vv,OU=vv,O=vv,ST=vv,L=vv,CN=vv"


@pytest.mark.parametrize(
    ("oid", "value", "text"),
    [
        pytest.param(NameOID.EMAIL_ADDRESS, "a@b.c", "1.2.840.113549.1.9.1=#16056140622e63", id="mail"),
        pytest.param(
            NameOID.EMAIL_ADDRESS, "a" * 130, f"1.2.840.113549.1.9.1=#168182{'61' * 130}", id="130 characters"
        ),
        pytest.param(
            NameOID.EMAIL_ADDRESS, "a" * 300, f"1.2.840.113549.1.9.1=#1682012c{'61' * 300}", id="300 characters"
        ),
        pytest.param(NameOID.SERIAL_NUMBER, "5", "2.5.4.5=#130135", id="number"),
        pytest.param(NameOID.TITLE, "boss", "2.5.4.12=#0c04626f7373", id="title"),
        pytest.param(x509.ObjectIdentifier("1.2.3.4.5"), "v", "1.2.3.4.5=#0c0176", id="an unknown one"),
    ],
)
def test_attribute_without_short_name_is_written_as_der(oid: x509.ObjectIdentifier, value: str, text: str) -> None:
    assert subject([attribute(value, oid)]) == text


def test_attribute_of_bits_is_written_as_der() -> None:
    bits = attribute(b"\x01\x02", NameOID.X500_UNIQUE_IDENTIFIER, Asn1.BitString)

    assert subject([bits]) == "2.5.4.45=#03020102"


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda der: der.replace(b"AAAA", b"\xff\xff\xff\xff"), id="a text that is not UTF-8"),
        pytest.param(lambda der: der[:-1], id="cut"),
        pytest.param(lambda _der: b"", id="empty"),
    ],
)
@pytest.mark.rule("AUTH-3")
def test_malformed_certificate_has_no_subject(damage: Callable[[bytes], bytes]) -> None:
    der = certificate(x509.Name([attribute("AAAA")])).public_bytes(serialization.Encoding.DER)
    assert subject_of(der) == "CN=AAAA"

    with pytest.raises(AuthenticationError, match=r"^the certificate of the client is malformed$"):
        subject_of(damage(der))


@pytest.mark.rule("AUTH-3")
def test_certificate_whose_name_is_no_text_has_no_subject() -> None:
    keystore = with_bits_as_name(Authority.create("tests"))
    (found,) = x509.load_pem_x509_certificates(keystore)

    with pytest.raises(AuthenticationError, match=r"^the certificate of the client is malformed$"):
        subject_of(found.public_bytes(serialization.Encoding.DER))


def test_subject_may_be_empty() -> None:
    assert subject() == ""
