"""Kafka's clients report Kafka's own errors when the quorum refuses them, and nothing is appended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from raft.config.security import SecurityProtocol
from raft.security.authority import Authority
from tests.java.kafka import Kafka, MainClass
from tests.secured.access import Access
from tests.secured.refused import RefusedAiokafka, RefusedClient, RefusedConsole, RefusedLibrdkafka
from tests.secured.secured_quorum import READER, STRANGER, WRITER, SecuredQuorum
from tests.secured.ways import MUTUAL, PLAIN, SCRAM, Way

pytestmark = pytest.mark.java

_PASSWORD_IN_CLEAR = Way(listener="SASL_PLAINTEXT", protocol=SecurityProtocol.SASL_PLAINTEXT, mechanism="PLAIN")
_NO_CERTIFICATE = replace(MUTUAL, has_certificate=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One reason to refuse a client.

    Fields:
        access: how the client connects.
        errors: what each client reports.
        consumes: whether the client is a consumer.
        is_idempotent: whether the producer is idempotent.
    """

    access: Callable[[SecuredQuorum], Access]
    errors: dict[str, str]
    consumes: bool = False
    is_idempotent: bool = False


def _that_trusts_another_authority(quorum: SecuredQuorum) -> Access:
    other = quorum.authority.with_name("other-authority.pem")
    other.write_bytes(Authority.create("another authority").certificate_pem())
    return replace(quorum.access(SCRAM), truststore=other)


def _of_sasl(words: str) -> dict[str, str]:
    return {
        "java": f"SaslAuthenticationException: {words}",
        "librdkafka": f"SASL authentication error: {words}",
        "aiokafka": f"SaslAuthenticationFailed: {words}",
    }


_NO_TOPIC = {
    "java": "TopicAuthorizationException: Not authorized to access topics: [__cluster_metadata]",
    "librdkafka": "TOPIC_AUTHORIZATION_FAILED: ",
    "aiokafka": "TopicAuthorizationFailedError('__cluster_metadata')",
}
_NO_CLUSTER = {
    "java": "ClusterAuthorizationException: Cluster authorization failed.",
    "librdkafka": "CLUSTER_AUTHORIZATION_FAILED: ",
    "aiokafka": "ClusterAuthorizationFailedError()",
}
_WRONG_SCRAM = _of_sasl(
    "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512"
)
_WRONG_PLAIN = _of_sasl("Authentication failed: Invalid username or password")

REFUSALS = {
    "no append": Refusal(access=lambda q: q.access(SCRAM, READER), errors=_NO_TOPIC),
    "no append, by certificate": Refusal(access=lambda q: q.access(MUTUAL, READER), errors=_NO_TOPIC),
    "no append, idempotent": Refusal(access=lambda q: q.access(SCRAM, READER), is_idempotent=True, errors=_NO_CLUSTER),
    "no read": Refusal(access=lambda q: q.access(SCRAM, WRITER), consumes=True, errors=_NO_TOPIC),
    "nothing at all": Refusal(access=lambda q: q.access(SCRAM, STRANGER), errors=_NO_TOPIC),
    "wrong password for SCRAM": Refusal(
        access=lambda q: q.access(SCRAM, password="wrong"),
        errors=_WRONG_SCRAM,
    ),
    "wrong password for PLAIN": Refusal(
        access=lambda q: q.access(PLAIN, password="wrong"),
        errors=_WRONG_PLAIN,
    ),
    "unknown user": Refusal(
        access=lambda q: replace(q.access(SCRAM), user="unknown"),
        errors=_WRONG_SCRAM,
        consumes=True,
    ),
    "unknown mechanism": Refusal(
        access=lambda q: q.access(_PASSWORD_IN_CLEAR),
        errors={
            "java": "UnsupportedSaslMechanismException: Client SASL mechanism 'PLAIN' not enabled in the server, "
            "enabled mechanisms are [SCRAM-SHA-256, SCRAM-SHA-512]",
            "librdkafka": "Unsupported SASL mechanism: broker's supported mechanisms: SCRAM-SHA-256,SCRAM-SHA-512",
            "aiokafka": "UnsupportedSaslMechanismError",
        },
    ),
    "unknown authority": Refusal(
        access=_that_trusts_another_authority,
        errors={
            "java": "SslAuthenticationException: SSL handshake failed",
            "librdkafka": "certificate verify failed",
            "aiokafka": "CERTIFICATE_VERIFY_FAILED",
        },
    ),
    "no certificate": Refusal(
        access=lambda q: q.access(_NO_CERTIFICATE),
        errors={
            "java": "SSLHandshakeException: Received fatal alert: certificate_required",
            "librdkafka": "alert certificate required",
            "aiokafka": "Unable to bootstrap",
        },
        consumes=True,
    ),
}


@pytest.fixture
def clients(kafka: Kafka, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> dict[str, RefusedClient]:
    return {
        "java": RefusedConsole(kafka, tmp_path),
        "librdkafka": RefusedLibrdkafka(),
        "aiokafka": RefusedAiokafka(caplog),
    }


@pytest.mark.rule("AUTH-2", "AUTH-3", "AUTH-5", "AUTH-6", "ACL-2", "ACL-4", "ACL-5")
@pytest.mark.parametrize("client", ["java", "librdkafka", "aiokafka"])
@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
def test_client_reports_why_it_is_refused_and_appends_nothing(
    quorum: SecuredQuorum, clients: dict[str, RefusedClient], client: str, refusal: Refusal
) -> None:
    access, end_offset = refusal.access(quorum), quorum.end_offset()

    if refusal.consumes:
        reported = clients[client].error_of_consumer(access)
    else:
        reported = clients[client].error_of_producer(access, is_idempotent=refusal.is_idempotent)

    assert refusal.errors[client] in reported
    assert quorum.end_offset() == end_offset


@pytest.mark.rule("ACL-2", "ACL-4")
@pytest.mark.parametrize("option", ["--bootstrap-server", "--bootstrap-controller"])
def test_metadata_quorum_is_refused_when_its_user_may_not_describe(
    kafka: Kafka, quorum: SecuredQuorum, tmp_path: Path, option: str
) -> None:
    access = quorum.access(SCRAM, STRANGER)
    config = access.write(tmp_path / "client.properties")
    place = (option, access.bootstrap_servers, "--command-config", str(config))

    finished = kafka.run(MainClass.METADATA_QUORUM, *place, "describe", "--status")

    assert finished.exit_code == 1
    assert "org.apache.kafka.common.errors.ClusterAuthorizationException" in finished.errors
    assert "LeaderId" not in finished.output


@pytest.mark.rule("AUTH-12")
def test_nodes_log_no_password_when_they_refuse_a_client(
    quorum: SecuredQuorum, clients: dict[str, RefusedClient]
) -> None:
    wrong = "a-wrong-password"

    clients["librdkafka"].error_of_producer(quorum.access(PLAIN, password=wrong), is_idempotent=False)

    logged = "".join(node.output for node in quorum.nodes.values())
    assert "it did not authenticate: Authentication failed: Invalid username or password" in logged
    assert not [password for password in (wrong, *quorum.passwords.values()) if password in logged]
