"""Messages of SCRAM that a node must refuse: wrong, of another kind, recorded, cut or damaged."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace

import pytest

from raft.security.sasl_server import ScramVerifier
from tests.security.scram import Proof
from tests.security.scram_checks import (
    FIRST,
    NONCE,
    PASSWORD,
    after_first,
    begun,
    credential,
    each_mechanism,
    refusal,
    refused,
)


@pytest.mark.parametrize(
    "first",
    [
        pytest.param("p=tls-unique,,n=alice,r=clientnonce", id="binding to the channel"),
        pytest.param("p=tls-server-end-point,,n=alice,r=clientnonce", id="binding to the certificate"),
        pytest.param("p=x,,n=alice,r=clientnonce", id="an unknown binding"),
        pytest.param("x,,n=alice,r=clientnonce", id="an unknown flag"),
        pytest.param("n,a=bob,n=alice,r=clientnonce", id="another authorization id"),
        pytest.param("n,a=alice,n=alice,r=clientnonce", id="an authorization id"),
        pytest.param("n,,n=alice,r=clientnonce,tokenauth=true", id="Kafka's delegation tokens"),
        pytest.param("n,,tokenauth=true,n=alice,r=clientnonce", id="delegation tokens, before the name"),
        pytest.param("n,,m=1,n=alice,r=clientnonce", id="a mandatory extension"),
        pytest.param("n,,n=alice,n=bob,r=clientnonce", id="two names"),
        pytest.param("n,,r=clientnonce,n=alice", id="another order"),
        pytest.param("n,,r=clientnonce", id="no name"),
        pytest.param("n,,n=,r=clientnonce", id="an empty name"),
        pytest.param("n,,n=alice", id="no nonce"),
        pytest.param("n,,n=alice,r=", id="an empty nonce"),
        pytest.param("n,,n=alice,r=é", id="a nonce that is not ASCII"),
        pytest.param("n,,n=alice,r=a b", id="a nonce with a blank"),
        pytest.param("n,,n=a=b,r=clientnonce", id="an equals sign that is not escaped"),
        pytest.param("n,,n=a=2cb,r=clientnonce", id="an escape in small letters"),
        pytest.param("n,,n=a\x07,r=clientnonce", id="a control character"),
        pytest.param("n,,n=a\0,r=clientnonce", id="a NUL"),
        pytest.param(f"n,,n={'x' * 256},r=clientnonce", id="a name that is too long"),
        pytest.param("n,n=alice,r=clientnonce", id="no header"),
        pytest.param("", id="empty"),
        pytest.param("\0alice\0planted-secret", id="a message of PLAIN"),
        pytest.param(after_first()[1].client_final, id="the last message of a proof"),
        pytest.param(b"n,,n=\xff,r=clientnonce", id="no UTF-8"),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_first_message_that_is_not_supported_is_refused(first: str | bytes) -> None:
    assert refused(begun(), first) == refusal()


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda proof: replace(proof, password="wrong").client_final, id="wrong password"),
        pytest.param(
            lambda proof: replace(proof, final_start=proof.final_start.replace("biws", "eSws")).client_final,
            id="the flag of another channel binding",
        ),
        pytest.param(
            lambda proof: replace(proof, final_start=proof.final_start.replace("biws", "cD14LCw=")).client_final,
            id="a channel binding",
        ),
        pytest.param(
            lambda proof: replace(proof, final_start=proof.final_start.replace("nodenonce", "nodenonc")).client_final,
            id="another nonce of the node",
        ),
        pytest.param(
            lambda proof: replace(proof, final_start=proof.final_start.replace("clientnonce", "other")).client_final,
            id="another nonce of the client",
        ),
        pytest.param(lambda proof: proof.final_start, id="no proof"),
        pytest.param(lambda proof: f"{proof.final_start},p=", id="an empty proof"),
        pytest.param(lambda proof: f"{proof.final_start},p=AAAA", id="a short proof"),
        pytest.param(lambda proof: f"{proof.final_start},p={'A' * 43}=", id="a proof of zeros"),
        pytest.param(lambda proof: f"{proof.client_final}AAAA", id="a long proof"),
        pytest.param(lambda proof: f"{proof.client_final},p=AAAA", id="two proofs"),
        pytest.param(lambda proof: f"{proof.final_start},x=1{proof.client_final[-46:]}", id="an extension added later"),
        pytest.param(lambda proof: proof.client_final.replace("p=", "v="), id="the proof of a node"),
        pytest.param(lambda proof: proof.client_first, id="the first message again"),
        pytest.param(lambda proof: proof.node_final, id="the last message of the node"),
        pytest.param(lambda _proof: "", id="empty"),
        pytest.param(lambda proof: proof.client_final.encode() + b"\xff", id="no UTF-8"),
    ],
)
@pytest.mark.rule("AUTH-6")
def test_wrong_last_message_is_refused(change: Callable[[Proof], str | bytes]) -> None:
    verifier, proof = after_first()

    assert refused(verifier, change(proof)) == refusal()


def test_extension_in_the_last_message_is_a_part_of_the_proof() -> None:
    verifier, proof = after_first()
    extended = replace(proof, final_start=f"{proof.final_start},x=1")

    verifier.respond(extended.client_final.encode())

    assert verifier.user == "alice"


def test_name_cannot_change_after_the_first_message() -> None:
    """The name is a part of what is proved; Mallory knows her own password, but the message names Alice."""
    verifier = ScramVerifier(
        "SCRAM-SHA-256", lambda name: credential(password="alice's" if name == "alice" else PASSWORD), nonce=NONCE
    )
    node_first = verifier.respond(FIRST.encode()).decode()

    as_mallory = Proof.of("SCRAM-SHA-256", PASSWORD, FIRST.replace("alice", "mallory"), node_first)

    assert refused(verifier, as_mallory.client_final) == refusal()


@each_mechanism
@pytest.mark.rule("AUTH-8")
def test_recorded_proof_is_refused_on_another_connection(mechanism: str) -> None:
    verifier, proof = after_first(mechanism=mechanism)
    verifier.respond(proof.client_final.encode())

    other = begun(mechanism, nonce="anothernonce")
    other.respond(FIRST.encode())

    assert refused(other, proof.client_final) == refusal(mechanism)


@pytest.mark.rule("AUTH-8")
def test_proof_is_not_accepted_for_the_other_mechanism() -> None:
    verifier, proof = after_first(mechanism="SCRAM-SHA-512")

    assert refused(verifier, replace(proof, mechanism="SCRAM-SHA-256").client_final) == refusal("SCRAM-SHA-512")


@pytest.mark.rule("AUTH-8")
def test_first_message_may_not_be_cut_at_any_length() -> None:
    """A nonce that is cut is another nonce, so the last messages of both sides must be about it."""
    for length in range(len(FIRST)):
        cut, verifier = FIRST[:length], begun()
        if "r=" in cut and not cut.endswith("r="):
            assert verifier.respond(cut.encode()).startswith(b"r=" + cut.partition("r=")[2].encode())
            whole = Proof.of(
                "SCRAM-SHA-256", PASSWORD, FIRST, f"r=clientnonce{NONCE},s={b64encode(bytes(16)).decode()},i=4096"
            )
            assert refused(verifier, whole.client_final) == refusal()
        else:
            assert refused(verifier, cut) == refusal()


@pytest.mark.rule("AUTH-8")
def test_last_message_may_not_be_cut_at_any_length() -> None:
    whole = after_first()[1].client_final
    for length in range(len(whole)):
        verifier, _ = after_first()

        assert refused(verifier, whole[:length]) == refusal(), length


def test_last_message_may_not_be_damaged_at_any_place() -> None:
    whole = after_first()[1].client_final.encode()
    for position in range(len(whole)):
        for bit in (0x01, 0x80):
            damaged = bytearray(whole)
            damaged[position] ^= bit
            verifier, _ = after_first()

            assert refused(verifier, bytes(damaged)) == refusal(), (position, bit)
