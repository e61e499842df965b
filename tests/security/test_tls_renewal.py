"""Files of certificates that change while a side runs: the next connection has the new ones, if they are usable."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from raft.config.listener_security import ClientAuth
from raft.config.secret import Secret
from raft.config.security import TlsSettings
from raft.security.authority import Authority
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import DAY, HOST, Files, certificate, key_pem, name_of, pem
from tests.security.handshakes import Pair

STAYS = "; the certificates that were read before stay in use"


def unusable(reason: str) -> None:
    raise AssertionError(reason)


def connected(files: Files, node: TlsContexts) -> Pair:
    return Pair.of(files.client().present, node.present).exchange()


def renewed(files: Files) -> bytes:
    """The content of a keystore with another certificate, which expires in two days."""
    return key_pem() + pem(certificate(name_of("node1"), files.authority, ends_in=2 * DAY))


@pytest.mark.rule("AUTH-11")
def test_next_connection_has_the_renewed_certificate(own_files: Files) -> None:
    node = own_files.node()
    before = connected(own_files, node)

    own_files.write("node", renewed(own_files))
    assert node.renew(unusable)
    after = connected(own_files, node)

    assert before.client.certificate() != after.client.certificate()
    assert node.expires_at is not None
    assert node.expires_at == certificate_end(own_files)


def certificate_end(files: Files) -> object:
    return TlsContexts(files.settings("node"), ClientAuth.NONE).expires_at


@pytest.mark.rule("AUTH-11")
def test_open_connection_stays_when_the_certificate_is_renewed(own_files: Files) -> None:
    node = own_files.node()
    pair = connected(own_files, node)

    own_files.write("node", renewed(own_files))
    node.renew(unusable)
    pair.client.send(b"a request")

    assert pair.exchange().received["node"] == b"a request"


@pytest.mark.rule("AUTH-11")
def test_authority_that_is_no_longer_trusted_counts_for_the_next_connection(own_files: Files) -> None:
    node = own_files.node(client_auth=ClientAuth.REQUIRED)
    client = own_files.client("client")
    assert Pair.of(client.present, node.present).exchange().are_open

    own_files.write("authority", Authority.create("another authority").certificate_pem())
    node.renew(unusable)

    pair = Pair.of(client.present, node.present).exchange()
    assert "self-signed certificate in certificate chain" in str(pair.node_error)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda files: files.write("node", b""), id="emptied"),
        pytest.param(lambda files: files.path("node").unlink(), id="removed"),
        pytest.param(lambda files: files.write("node", renewed(files)[:-100]), id="cut"),
        pytest.param(lambda files: files.write("node", key_pem()), id="the key first"),
        pytest.param(
            lambda files: files.write("node", files.path("client").read_bytes().replace(b"PRIVATE KEY", b"NO KEY")),
            id="no key",
        ),
        pytest.param(
            lambda files: files.write("node", renewed(files).replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE")),
            id="a form that only OpenSSL reads",
        ),
        pytest.param(lambda files: files.path("authority").unlink(), id="no truststore"),
        pytest.param(lambda files: files.write("authority", b"x"), id="a truststore that is none"),
    ],
)
@pytest.mark.rule("AUTH-11")
def test_certificates_stay_in_use_when_new_files_are_unusable(
    own_files: Files, change: Callable[[Files], object]
) -> None:
    node = own_files.node(client_auth=ClientAuth.REQUESTED)
    client, present, expires_at = own_files.client(), node.present, node.expires_at
    reported: list[str] = []

    change(own_files)
    assert not node.renew(reported.append)

    (line,) = reported
    assert line.startswith("ssl.")
    assert line.endswith(STAYS)
    assert (node.present, node.expires_at) == (present, expires_at)
    assert Pair.of(client.present, node.present).exchange().are_open


@pytest.mark.rule("AUTH-11")
def test_certificate_that_comes_in_two_steps_is_used_after_the_second(own_files: Files) -> None:
    node = own_files.node()
    own_files.write("node", key_pem())
    assert not node.renew(lambda _reason: None)

    own_files.write("node", renewed(own_files))

    assert node.renew(unusable)
    assert node.expires_at == certificate_end(own_files)


@pytest.mark.rule("AUTH-11")
def test_key_is_used_when_its_password_comes_later(own_files: Files) -> None:
    password = own_files.folder / "password"
    password.write_text("before")
    settings = TlsSettings(
        keystore=str(own_files.path("node")), key_password=Secret(f"${{directory:{own_files.folder}:password}}")
    )
    node = TlsContexts(settings, ClientAuth.NONE)
    own_files.write("node", key_pem("after") + renewed(own_files).partition(b"-----END PRIVATE KEY-----\n")[2])
    assert not node.renew(lambda _reason: None)

    password.write_text("after")

    assert node.renew(unusable)
    assert not node.renew(unusable), "it is renewed once"
    assert connected(own_files, node).are_open


def test_files_that_have_not_changed_are_not_read_again(own_files: Files) -> None:
    node = own_files.node()
    present = node.present

    assert not node.renew(unusable)

    assert node.present is present


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_renewed_context_has_the_settings_of_the_first(own_files: Files, version: str) -> None:
    node = TlsContexts(own_files.settings("node", versions=(version,)), ClientAuth.REQUIRED)
    own_files.write("node", renewed(own_files))
    node.renew(unusable)

    without = Pair.of(own_files.client().present, node.present, HOST).exchange()
    with_one = Pair.of(own_files.client("client").present, node.present, HOST).exchange()

    assert not without.node.is_open
    assert with_one.node.version == version
