"""Wrong certificates: those of a false node, which the client refuses, and those of clients, which the node refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from raft.config.security import SecurityProtocol
from raft.errors import AuthenticationError, QuorumUnavailableError
from raft.security.authority import Authority
from tests.node.harness.keys import Keys
from tests.node.harness.loop import client_at
from tests.node.harness.secured import MUTUAL_TLS, TLS
from tests.node.harness.secured_node import MUTUAL, SecuredNodes, secured_nodes
from tests.node.harness.seen import seen
from tests.node.harness.target import appending as appending
from tests.node.harness.wire import Wire
from tests.security.certificates import with_bits_as_name

OTHER = Authority.create("tests")
"""It has the name of the right one."""

DAY = timedelta(days=1)


def self_signed(keys: Keys, name: str) -> Path:
    path = keys.folder / f"{name}.pem"
    path.write_bytes(Authority.create(name).to_pem())
    return path


KEYSTORES: dict[str, Callable[[Keys], Path]] = {
    "EXPIRED": lambda keys: keys.certificate("expired", lifetime=-DAY),
    "SELFSIGNED": lambda keys: self_signed(keys, "selfsigned"),
    "OTHERCA": lambda keys: keys.certificate("otherca", authority=OTHER),
    "OTHERHOST": lambda keys: keys.certificate("otherhost", ["other.example"]),
    "NOHOST": lambda keys: keys.certificate("nohost", ()),
}
REFUSED_BY_CLIENT = [
    pytest.param("EXPIRED", "certificate has expired", "certificate expired", id="expired"),
    pytest.param("SELFSIGNED", "self-signed certificate", "unknown ca", id="self-signed"),
    pytest.param("OTHERCA", "self-signed certificate in certificate chain", "unknown ca", id="another authority"),
    pytest.param("OTHERHOST", "not valid for '127.0.0.1'", "bad certificate", id="of another host"),
    pytest.param("NOHOST", "not valid for '127.0.0.1'", "bad certificate", id="of a client"),
]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNodes]:
    """A node that also shows each wrong certificate, on a listener of its own."""
    keys = Keys(tmp_path_factory.mktemp("target"))
    keystores = {
        f"listener.name.{name.lower()}.ssl.keystore.location": str(make(keys)) for name, make in KEYSTORES.items()
    }
    more = {**dict.fromkeys(KEYSTORES, TLS), "NAMED": MUTUAL_TLS}
    names = {"listener.name.named.ssl.principal.mapping.rules": "RULE:^CN=known-(.*)$/$1/"}
    with secured_nodes(keys.folder, keys=keys, more=more, overrides=keystores | names) as node:
        yield node


@pytest.mark.parametrize(("listener", "message", "alert"), REFUSED_BY_CLIENT)
@pytest.mark.rule("AUTH-2")
def test_client_refuses_the_certificate_of_a_false_node(
    target: SecuredNodes, listener: str, message: str, alert: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        seen(lambda: target.authentications("failed_authentication", listener), caplog, alert),
        client_at(target.endpoint(listener), security=target.keys.client(SecurityProtocol.SSL)) as client,
        pytest.raises(AuthenticationError, match=f"the certificate of the node is not accepted: .*{message}"),
    ):
        client.last_stable_offset()


REFUSED_BY_NODE = [
    pytest.param(lambda _keys: None, "certificate required", "peer did not return a certificate", id="none"),
    pytest.param(
        lambda keys: keys.certificate("alice", (), lifetime=-DAY),
        "certificate expired",
        "certificate has expired",
        id="expired",
    ),
    pytest.param(lambda keys: self_signed(keys, "alice"), "unknown ca", "self-signed certificate", id="self-signed"),
    pytest.param(
        lambda keys: keys.certificate("alice", (), authority=OTHER),
        "unknown ca",
        "self-signed certificate in certificate chain",
        id="another authority",
    ),
]


@pytest.mark.parametrize(("keystore", "message", "reason"), REFUSED_BY_NODE)
@pytest.mark.rule("AUTH-3")
def test_node_refuses_the_certificate_of_a_false_client(
    target: SecuredNodes,
    keystore: Callable[[Keys], Path | None],
    message: str,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = keystore(target.keys)
    others = {} if path is None else {"ssl__keystore__location": str(path)}
    with (
        seen(lambda: target.authentications("failed_authentication", MUTUAL), caplog, "dropped a connection: ", reason),
        client_at(target.endpoint(MUTUAL), security=target.keys.client(SecurityProtocol.SSL, **others)) as client,
        pytest.raises(AuthenticationError, match=f"the node refused the certificate.*: .*{message}"),
    ):
        client.last_stable_offset()


@pytest.mark.rule("AUTH-3")
def test_node_refuses_a_certificate_whose_name_is_no_text(
    target: SecuredNodes, caplog: pytest.LogCaptureFixture
) -> None:
    """It is signed by the authority, and OpenSSL accepts it."""
    keystore = target.keys.folder / "bits.pem"
    keystore.write_bytes(with_bits_as_name(target.keys.authority))
    with (
        seen(
            lambda: target.authentications("failed_authentication", MUTUAL),
            caplog,
            "the certificate of the client is malformed",
        ),
        Wire(target.endpoint(MUTUAL), tls=target.keys.tls(keystore)) as wire,
    ):
        assert wire.is_closed_by_node()


@pytest.mark.rule("AUTH-3")
def test_node_refuses_a_certificate_whose_subject_has_no_name_by_its_rules(
    target: SecuredNodes, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        seen(
            lambda: target.authentications("failed_authentication", "NAMED"),
            caplog,
            "no rule of ssl.principal.mapping.rules matches the certificate of CN=alice",
        ),
        Wire(target.endpoint("NAMED"), tls=target.keys.tls(target.keys.certificate("alice", ()))) as wire,
    ):
        assert wire.is_closed_by_node()

    settings = target.keys.client(
        SecurityProtocol.SSL, ssl__keystore__location=str(target.keys.certificate("alice", ()))
    )
    with (
        client_at(target.endpoint("NAMED"), security=settings, api_timeout_ms=2_000) as client,
        pytest.raises(QuorumUnavailableError, match="the node closed the connection after the TLS handshake"),
    ):
        client.last_stable_offset()
