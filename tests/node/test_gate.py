"""What a listener asks of its connections, and the names that certificates give to them."""

from __future__ import annotations

import ssl
from collections import Counter
from pathlib import Path

import pytest

from raft.config.listener_security import ListenerSecurity, listener_security
from raft.config.security import SecurityProtocol
from raft.errors import AuthenticationError, ConfigError
from raft.node import gate as module
from raft.node.gate import Gate
from raft.runtime.caller import ANONYMOUS, Caller
from raft.security.outcomes import AuthenticationOutcome
from raft.security.tls_channel import TlsChannel
from raft.types import Endpoint
from tests.node.harness.keys import SCRAM, Keys, jaas
from tests.node.harness.properties import HOST, Properties

LISTENER = Endpoint(HOST, 9093, "CONTROLLER")
NAMES = "RULE:^CN=(.*)$/$1/"


class GatedNode:
    """A gate, and what it counts."""

    def __init__(self, security: ListenerSecurity) -> None:
        self.counted: Counter[AuthenticationOutcome] = Counter()
        self.gate = Gate(LISTENER, None, security, self._count)

    def admitted(self, client: ssl.SSLContext) -> Caller:
        """The other side of a connection, after its handshake."""
        caller, channel = self.gate.new_caller("192.0.2.1"), self.gate.new_channel()
        assert channel is not None
        shake_hands(channel, TlsChannel(client, host=HOST))
        self.gate.admit(caller, channel)
        return caller

    def _count(self, caller: Caller, outcome: AuthenticationOutcome) -> None:
        assert caller.listener == LISTENER
        self.counted[outcome] += 1


def shake_hands(ours: TlsChannel, theirs: TlsChannel) -> None:
    while not (ours.is_open and theirs.is_open):
        ours.receive(theirs.data_to_send())
        theirs.receive(ours.data_to_send())


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path)


def security_of(keys: Keys, protocol: SecurityProtocol, **others: str) -> ListenerSecurity:
    properties: Properties = {
        "listener.security.protocol.map": f"CONTROLLER:{protocol.value}",
        "ssl.keystore.location": str(keys.certificate("node1")),
        "ssl.truststore.location": str(keys.truststore),
        "sasl.enabled.mechanisms": SCRAM,
        "raft.scram.credentials.file": str(keys.credentials_file),
    }
    return listener_security(properties | {key.replace("__", "."): text for key, text in others.items()}, LISTENER)


def test_listener_without_tls_has_no_channel(keys: Keys) -> None:
    gate = GatedNode(security_of(keys, SecurityProtocol.SASL_PLAINTEXT)).gate

    assert gate.contexts is None
    assert gate.new_channel() is None
    assert gate.new_caller("192.0.2.1").sasl is not None
    gate.renew(pytest.fail)


def test_listener_without_sasl_asks_for_no_proof(keys: Keys) -> None:
    caller = GatedNode(security_of(keys, SecurityProtocol.SSL)).gate.new_caller("192.0.2.1")

    assert (caller.sasl, caller.principal, caller.address) == (None, ANONYMOUS, "192.0.2.1")


@pytest.mark.parametrize(
    ("rules", "principal"),
    [
        pytest.param("", "User:CN=Alice", id="the subject"),
        pytest.param(NAMES, "User:Alice", id="the common name"),
        pytest.param("RULE:^CN=(.*)$/$1/L", "User:alice", id="in lower case"),
        pytest.param("RULE:^OU=(.*)$/$1/, DEFAULT", "User:CN=Alice", id="the second rule"),
    ],
)
@pytest.mark.parametrize("client_auth", ["required", "requested"])
@pytest.mark.rule("AUTH-3")
def test_certificate_gives_the_client_its_name(keys: Keys, client_auth: str, rules: str, principal: str) -> None:
    node = GatedNode(
        security_of(keys, SecurityProtocol.SSL, ssl__client__auth=client_auth, ssl__principal__mapping__rules=rules)
    )

    caller = node.admitted(keys.tls(keys.certificate("Alice", ())))

    assert caller.principal == principal
    assert node.counted == {AuthenticationOutcome.SUCCESSFUL: 1}


@pytest.mark.rule("AUTH-3")
def test_client_whose_subject_matches_no_rule_is_refused(keys: Keys) -> None:
    node = GatedNode(
        security_of(
            keys,
            SecurityProtocol.SSL,
            ssl__client__auth="required",
            ssl__principal__mapping__rules="RULE:^OU=(.*)$/$1/",
        )
    )

    with pytest.raises(AuthenticationError, match=r"no rule of ssl\.principal\.mapping\.rules matches .* CN=alice"):
        node.admitted(keys.tls(keys.certificate("alice", ())))

    assert node.counted == {}


@pytest.mark.parametrize("client_auth", ["required", "requested"])
@pytest.mark.rule("AUTH-3")
def test_client_whose_name_cannot_be_found_is_not_let_in(
    keys: Keys, client_auth: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with its certificate, it must not go on without a name."""

    def fail(_certificate: bytes) -> str:
        raise RecursionError("planted")

    monkeypatch.setattr(module, "subject_of", fail)
    node = GatedNode(security_of(keys, SecurityProtocol.SSL, ssl__client__auth=client_auth))
    caller, channel = node.gate.new_caller("192.0.2.1"), node.gate.new_channel()
    assert channel is not None
    shake_hands(channel, TlsChannel(keys.tls(keys.certificate("alice", ())), host=HOST))
    assert not caller.is_authenticated

    with pytest.raises(AuthenticationError, match=r"^cannot find the name in the certificate: RecursionError$"):
        node.gate.admit(caller, channel)

    assert (caller.is_admitted, caller.is_authenticated) == (False, False)
    assert node.counted == {}


@pytest.mark.parametrize(
    ("protocol", "is_admitted"),
    [(SecurityProtocol.SASL_PLAINTEXT, True), (SecurityProtocol.SSL, False), (SecurityProtocol.SASL_SSL, False)],
)
@pytest.mark.rule("AUTH-3", "AUTH-4")
def test_client_of_a_listener_with_tls_is_let_in_after_the_handshake_only(
    keys: Keys, protocol: SecurityProtocol, is_admitted: bool
) -> None:
    caller = GatedNode(security_of(keys, protocol)).gate.new_caller("192.0.2.1")

    assert caller.is_admitted is is_admitted
    assert not caller.is_authenticated


@pytest.mark.parametrize(
    ("protocol", "client_auth", "has_certificate"),
    [
        pytest.param(SecurityProtocol.SSL, "none", True, id="not asked for"),
        pytest.param(SecurityProtocol.SSL, "requested", False, id="not given"),
        pytest.param(SecurityProtocol.SASL_SSL, "required", True, id="the name is that of SASL"),
    ],
)
@pytest.mark.rule("AUTH-3")
def test_handshake_alone_gives_no_name(
    keys: Keys, protocol: SecurityProtocol, client_auth: str, has_certificate: bool
) -> None:
    node = GatedNode(security_of(keys, protocol, ssl__client__auth=client_auth))

    caller = node.admitted(keys.tls(keys.certificate("alice", ()) if has_certificate else None))

    assert caller.principal == ANONYMOUS
    assert node.counted == {}


@pytest.mark.rule("AUTH-3")
def test_handshake_fails_without_a_certificate_that_is_required(keys: Keys) -> None:
    node = GatedNode(security_of(keys, SecurityProtocol.SSL, ssl__client__auth="required"))

    with pytest.raises(AuthenticationError, match="the TLS handshake with the client failed: peer did not return"):
        node.admitted(keys.tls())


def test_failed_handshakes_are_counted(keys: Keys) -> None:
    node = GatedNode(security_of(keys, SecurityProtocol.SSL))

    node.gate.refuse(node.gate.new_caller("192.0.2.1"))

    assert node.counted == {AuthenticationOutcome.FAILED: 1}


def test_node_refuses_to_start_when_the_entry_of_plain_is_malformed(keys: Keys) -> None:
    security = security_of(
        keys,
        SecurityProtocol.SASL_SSL,
        sasl__enabled__mechanisms="PLAIN",
        listener__name__controller__plain__sasl__jaas__config="PlainLoginModule",
    )

    with pytest.raises(ConfigError, match=r"the entry of sasl\.jaas\.config for PLAIN is malformed"):
        GatedNode(security)


def test_entry_of_plain_is_not_read_where_the_listener_has_no_plain(keys: Keys) -> None:
    entry = jaas("PLAIN", "node1")

    node = GatedNode(
        security_of(keys, SecurityProtocol.SASL_SSL, listener__name__controller__plain__sasl__jaas__config=entry)
    )

    session = node.gate.new_caller("192.0.2.1").sasl
    assert session is not None
    assert session.mechanisms == (SCRAM,)


def test_listener_with_plain_alone_needs_no_file_of_credentials(keys: Keys) -> None:
    security = security_of(
        keys,
        SecurityProtocol.SASL_SSL,
        sasl__enabled__mechanisms="PLAIN",
        raft__scram__credentials__file="",
        listener__name__controller__plain__sasl__jaas__config=jaas("PLAIN", "node1", users=["alice"]),
    )

    gate = GatedNode(security).gate
    gate.renew(pytest.fail)

    session = gate.new_caller("192.0.2.1").sasl
    assert session is not None
    assert session.mechanisms == ("PLAIN",)
