"""The contexts of TLS: which files they need, and what is said when a file cannot be used."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from raft.config.listener_security import ClientAuth
from raft.config.secret import Secret
from raft.config.security import TlsSettings
from raft.errors import ConfigError
from raft.security.authority import Authority
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import DAY, Files, certificate, key_pem, name_of, pem
from tests.security.handshakes import Pair

PASSWORD = "planted-secret"
EXPECTED = "expected a PEM file with a private key and its certificates, and ssl.key.password if the key is encrypted"


def leaf(files: Files, *, ends_in: timedelta = DAY) -> bytes:
    """A certificate of the key that `key_pem` returns."""
    return pem(certificate(name_of("node1"), files.authority, ends_in=ends_in))


@pytest.mark.parametrize("password", [None, PASSWORD], ids=["plain", "encrypted"])
def test_key_is_read_with_its_password(own_files: Files, password: str | None) -> None:
    own_files.write("own", key_pem(password) + leaf(own_files))

    node = TlsContexts(own_files.settings("own", password=password), ClientAuth.NONE)

    assert Pair.of(own_files.client().present, node.present).exchange().are_open


def test_password_may_be_a_reference(own_files: Files) -> None:
    own_files.write("own", key_pem(PASSWORD) + leaf(own_files))
    (own_files.folder / "password").write_text(f"{PASSWORD}\n")
    reference = f"${{directory:{own_files.folder}:password}}"

    node = TlsContexts(own_files.settings("own", password=reference), ClientAuth.NONE)

    assert Pair.of(own_files.client().present, node.present).exchange().are_open


def test_password_of_a_key_that_is_not_encrypted_does_not_matter(files: Files) -> None:
    TlsContexts(files.settings("node", password=PASSWORD), ClientAuth.NONE)


@pytest.mark.parametrize(
    ("content", "password", "reason"),
    [
        pytest.param(lambda files: key_pem(PASSWORD) + leaf(files), "wrong", None, id="a wrong password"),
        pytest.param(lambda files: key_pem(PASSWORD) + leaf(files), None, None, id="no password"),
        pytest.param(lambda files: key_pem(PASSWORD) + leaf(files), "x" * 2000, None, id="a password that is too long"),
        pytest.param(
            lambda files: files.path("node").read_bytes().partition(b"-----END PRIVATE KEY-----\n")[2],
            None,
            None,
            id="no key",
        ),
        pytest.param(lambda _files: key_pem(), None, None, id="no certificate"),
        pytest.param(
            lambda files: key_pem() + files.path("node").read_bytes().partition(b"-----END PRIVATE KEY-----\n")[2],
            None,
            "KEY_VALUES_MISMATCH",
            id="a key of another certificate",
        ),
        pytest.param(lambda _files: b"", None, None, id="empty"),
        pytest.param(lambda _files: b"\xff" * 100, None, None, id="no text"),
        pytest.param(lambda files: (key_pem() + leaf(files))[:-40], None, None, id="cut"),
        pytest.param(
            lambda files: key_pem() + leaf(files).replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE"),
            None,
            None,
            id="a form that only OpenSSL reads",
        ),
    ],
)
@pytest.mark.rule("AUTH-12")
def test_keystore_that_cannot_be_used_is_named_without_secrets(
    own_files: Files, content: Callable[[Files], bytes], password: str | None, reason: str | None
) -> None:
    path = own_files.write("own", content(own_files))

    with pytest.raises(ConfigError) as refused:
        TlsContexts(own_files.settings("own", password=password), ClientAuth.NONE)

    text = str(refused.value)
    assert text.startswith(f"ssl.keystore.location={path}: {EXPECTED} (")
    assert re.search(reason or r"\(\S.*\)$", text)
    assert PASSWORD not in text
    assert "x" * 20 not in text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        pytest.param(
            TlsSettings(keystore="FOLDER/missing.pem"),
            "ssl.keystore.location=FOLDER/missing.pem: No such file or directory",
            id="no keystore",
        ),
        pytest.param(
            TlsSettings(truststore="FOLDER/missing.pem"),
            "ssl.truststore.location=FOLDER/missing.pem: No such file or directory",
            id="no truststore",
        ),
        pytest.param(
            TlsSettings(keystore="FOLDER/\0"), "ssl.keystore.location=FOLDER/\0: embedded null byte", id="no path"
        ),
        pytest.param(
            TlsSettings(keystore="FOLDER/encrypted.pem", key_password=Secret("${env:KRAFT_MISSING}")),
            "${env:KRAFT_MISSING}: the environment has no variable KRAFT_MISSING",
            id="no password",
        ),
        pytest.param(
            TlsSettings(truststore="FOLDER"),
            "ssl.truststore.location=FOLDER: expected certificates as PEM (",
            id="folder",
        ),
        pytest.param(
            TlsSettings(truststore="FOLDER/empty.pem"),
            "ssl.truststore.location=FOLDER/empty.pem: expected certificates as PEM (NO_CERTIFICATE_OR_CRL_FOUND)",
            id="an empty truststore",
        ),
        pytest.param(
            TlsSettings(trusted_certificates="x"),
            "ssl.truststore.certificates: expected certificates as PEM (",
            id="text",
        ),
    ],
)
def test_file_or_text_that_cannot_be_used_is_named(own_files: Files, settings: TlsSettings, message: str) -> None:
    own_files.write("empty", b"")
    own_files.write("encrypted", key_pem(PASSWORD) + leaf(own_files))
    folder = str(own_files.folder)

    def located(text: str) -> Path:
        return Path(text.replace("FOLDER", folder))

    with pytest.raises(ConfigError) as refused:
        TlsContexts(settings, None, located)

    assert str(refused.value).replace(folder, "FOLDER").startswith(message)


def test_truststore_may_have_several_authorities(own_files: Files) -> None:
    other = Authority.create("another authority")
    own_files.write("authority", other.certificate_pem() + own_files.authority.certificate_pem())

    assert Pair.of(own_files.client().present, own_files.node().present).exchange().are_open


def test_truststore_may_be_a_text_or_a_reference_to_one(own_files: Files) -> None:
    text = own_files.authority.certificate_pem().decode()
    for given in (text, f"# é\n{text}", f"${{directory:{own_files.folder}:authority.pem}}"):
        client = TlsContexts(TlsSettings(trusted_certificates=given), None)

        assert Pair.of(client.present, own_files.node().present).exchange().are_open


def test_authorities_of_the_system_are_trusted_when_none_are_given(files: Files) -> None:
    client = TlsContexts(TlsSettings(), None)

    pair = Pair.of(client.present, files.node().present).exchange()

    assert "self-signed certificate in certificate chain" in str(pair.client_error)


def test_node_that_asks_for_no_certificates_needs_no_truststore(files: Files) -> None:
    TlsContexts(files.settings("node", truststore=None), ClientAuth.NONE)


@pytest.mark.parametrize("client_auth", [ClientAuth.NONE, None], ids=["node", "client"])
def test_side_knows_when_its_first_certificate_expires(own_files: Files, client_auth: ClientAuth | None) -> None:
    first = certificate(name_of("node1"), own_files.authority, ends_in=2 * DAY)
    own_files.write("own", key_pem() + pem(first) + leaf(own_files, ends_in=3 * DAY))

    contexts = TlsContexts(own_files.settings("own"), client_auth)

    assert contexts.expires_at == first.not_valid_after_utc
    assert timedelta(days=1) < first.not_valid_after_utc - datetime.now(UTC) < timedelta(days=3)


def test_client_without_certificate_has_no_expiry(files: Files) -> None:
    assert files.client().expires_at is None
