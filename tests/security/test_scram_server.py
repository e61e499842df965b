"""The node's side of SCRAM: whose proof it accepts, and what it says about users that do not exist."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raft.errors import AuthenticationError
from raft.security.credentials import SCRAM_MECHANISMS, Credentials, ScramCredential
from raft.security.sasl_server import ScramVerifier, Verifiers
from tests.security.scram import RFC_7677, Proof
from tests.security.scram_checks import (
    CREDENTIALS,
    FIRST,
    NONCE,
    PASSWORD,
    after_first,
    each_mechanism,
    refusal,
    refused,
)


@pytest.mark.rule("AUTH-8")
def test_node_sends_the_messages_of_the_rfc() -> None:
    known = ScramCredential.of_password(RFC_7677.password, "SCRAM-SHA-256", salt=RFC_7677.salt, iterations=4096)
    users = Credentials().with_user(RFC_7677.user, "SCRAM-SHA-256", known)
    verifiers = Verifiers(("SCRAM-SHA-256",), passwords=dict, credentials=lambda: users, pepper=b"pepper")
    verifier = verifiers.begin("SCRAM-SHA-256", RFC_7677.node_nonce)

    assert verifier.respond(RFC_7677.client_first.encode()).decode() == RFC_7677.node_first
    assert verifier.user is None
    assert verifier.respond(RFC_7677.client_final.encode()).decode() == RFC_7677.node_final
    assert verifier.user == RFC_7677.user


@each_mechanism
def test_right_proof_is_accepted_and_answered_with_that_of_the_node(mechanism: str) -> None:
    verifier, proof = after_first(mechanism=mechanism)

    final = verifier.respond(proof.client_final.encode()).decode()

    assert final == proof.node_final
    assert verifier.user == "alice"


@pytest.mark.parametrize(
    ("written", "user"),
    [
        pytest.param("a=2Cb", "a,b", id="comma"),
        pytest.param("a=3Db", "a=b", id="equals sign"),
        pytest.param("=3D2C", "=2C", id="an escaped escape"),
        pytest.param("I\N{SOFT HYPHEN}X", "IX", id="normalized by SASLprep"),
        pytest.param("é", "é", id="not ASCII"),
        pytest.param("x" * 255, "x" * 255, id="the longest"),
    ],
)
def test_name_is_unescaped_and_normalized(written: str, user: str) -> None:
    verifier, proof = after_first(f"n,,n={written},r=clientnonce")

    verifier.respond(proof.client_final.encode())

    assert verifier.user == user


def test_client_that_could_bind_to_the_channel_is_accepted() -> None:
    """With `y` it says that it believes that the node cannot, which is true."""
    verifier, proof = after_first("y,,n=alice,r=clientnonce")

    verifier.respond(proof.client_final.encode())

    assert proof.final_start.startswith("c=eSws,")
    assert verifier.user == "alice"


def test_extension_that_the_node_does_not_know_is_ignored() -> None:
    verifier, proof = after_first("n,,n=alice,r=clientnonce,x=1")

    verifier.respond(proof.client_final.encode())

    assert verifier.user == "alice"


@each_mechanism
@pytest.mark.rule("AUTH-6")
def test_unknown_user_is_answered_like_a_wrong_password(mechanism: str) -> None:
    users = Credentials().with_user("alice", mechanism, CREDENTIALS[mechanism])
    verifiers = Verifiers(SCRAM_MECHANISMS, passwords=dict, credentials=lambda: users, pepper=b"pepper")

    answers = []
    for name in ("alice", "mallory", "mallory"):
        verifier = verifiers.begin(mechanism, NONCE)
        assert isinstance(verifier, ScramVerifier)
        first = FIRST.replace("alice", name)
        node_first = verifier.respond(first.encode()).decode()
        answers.append((node_first, refused(verifier, Proof.of(mechanism, "wrong", first, node_first).client_final)))

    (known, known_refusal), (unknown, unknown_refusal), again = answers
    assert known_refusal == unknown_refusal == refusal(mechanism)
    assert again == (unknown, unknown_refusal), "the salt is always the same"
    assert [len(part) for part in known.split(",")] == [len(part) for part in unknown.split(",")]
    assert known.split(",")[2] == unknown.split(",")[2], "the iterations"


@pytest.mark.rule("AUTH-8")
def test_node_does_not_use_a_credential_with_few_iterations() -> None:
    weak = replace(CREDENTIALS["SCRAM-SHA-256"], iterations=4095)

    assert refused(ScramVerifier("SCRAM-SHA-256", lambda _name: weak, nonce=NONCE), FIRST) == refusal()


def test_credentials_count_as_they_are_when_a_proof_begins() -> None:
    users = [Credentials().with_user("alice", "SCRAM-SHA-256", CREDENTIALS["SCRAM-SHA-256"])]
    verifiers = Verifiers(SCRAM_MECHANISMS, passwords=dict, credentials=lambda: users[-1], pepper=b"pepper")
    before = verifiers.begin("SCRAM-SHA-256", NONCE)

    users.append(users[0].without_user("alice"))
    after = verifiers.begin("SCRAM-SHA-256", NONCE)

    for verifier, is_accepted in ((before, True), (after, False)):
        node_first = verifier.respond(FIRST.encode()).decode()
        final = Proof.of("SCRAM-SHA-256", PASSWORD, FIRST, node_first).client_final.encode()
        if is_accepted:
            verifier.respond(final)
        else:
            with pytest.raises(AuthenticationError):
                verifier.respond(final)
        assert (verifier.user == "alice") is is_accepted
