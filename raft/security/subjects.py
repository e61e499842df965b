r"""The subjects of certificates as text, in the form of RFC 2253, as Java's X500Principal.getName writes it.

    CN=node1,OU=Quorum\, Berlin,O=Example,1.2.840.113549.1.9.1=#16056140622e63

Principals are made of it, so it is the same as Apache Kafka's, with one difference: Java reads a BMPString, which has
two bytes for each character, as if it were UTF-8.
"""

from __future__ import annotations

import re

from cryptography import x509
from cryptography.x509.oid import NameOID

from raft.errors import AuthenticationError

_SHORT_NAMES = {
    NameOID.COMMON_NAME: "CN",
    NameOID.LOCALITY_NAME: "L",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.COUNTRY_NAME: "C",
    NameOID.STREET_ADDRESS: "STREET",
    NameOID.DOMAIN_COMPONENT: "DC",
    NameOID.USER_ID: "UID",
}
_TEXT_TAGS = frozenset([0x0C, 0x13, 0x14, 0x16, 0x1E])
"""UTF8String, PrintableString, T61String, IA5String, BMPString."""

_ESCAPES = str.maketrans({sign: f"\\{sign}" for sign in ',=+<>#;"\\'} | {"\0": "\\00"})
_BLANKS_AT_AN_END = re.compile(r"\A[ \r]+|[ \r]+\Z")


def subject_of(certificate: bytes) -> str:
    """Return the subject of a certificate.

    Args:
        certificate: as DER.

    Raises:
        AuthenticationError: the certificate, or a text in its subject, is malformed. OpenSSL does not look at that.
    """
    try:
        subject = x509.load_der_x509_certificate(certificate).subject
        return ",".join("+".join(map(_attribute, part)) for part in reversed(subject.rdns))
    except Exception as error:
        # The library raises errors of several types: ValueError, TypeError for a common name of bits, InvalidVersion.
        raise AuthenticationError("the certificate of the client is malformed") from error


def _attribute(attribute: x509.NameAttribute[str | bytes]) -> str:
    der = _der_of_value(attribute)
    name = _SHORT_NAMES.get(attribute.oid)
    if name is None or der[0] not in _TEXT_TAGS:
        # Java has no short name for these, or does not take the value for a text, and writes its DER.
        return f"{name or attribute.oid.dotted_string}=#{der.hex()}"
    text = str(attribute.value).translate(_ESCAPES)
    return f"{name}={_BLANKS_AT_AN_END.sub(_escaped_blanks, text)}"


def _escaped_blanks(blanks: re.Match[str]) -> str:
    return "".join(f"\\{blank}" for blank in blanks[0])


def _der_of_value(attribute: x509.NameAttribute[str | bytes]) -> bytes:
    """Return the value with its tag and length: the last element of a name that has this attribute only."""
    der = x509.Name([attribute]).public_bytes()
    for _ in ("a sequence of", "sets of", "sequences of type and value"):
        der = der[_content_at(der) :]
    type_bytes = der[1]
    return der[_content_at(der) + type_bytes :]


def _content_at(der: bytes) -> int:
    """Return where the content of the first element begins: after its tag and its length."""
    length = der[1]
    return 2 if length < 0x80 else 2 + (length & 0x7F)
