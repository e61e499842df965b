"""The credentials of users for SCRAM, and the file that has them."""

from __future__ import annotations

import hashlib
import hmac
import json
import re

import pytest

from raft.errors import ConfigError
from raft.security.credentials import (
    DEFAULT_ITERATIONS,
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    PEPPER_BYTES,
    SCRAM_MECHANISMS,
    Credentials,
    ScramCredential,
    check_user_name,
)

PLANTED = "planted-secret"
SALT = bytes(range(16))
PEPPER = bytes(range(PEPPER_BYTES))
KEY_32, KEY_64 = "A" * 43 + "=", "A" * 86 + "=="
TEXT = f"salt=AAECAwQFBgcICQoLDA0ODw==,stored_key={KEY_32},server_key={KEY_32},iterations=4096"


def credential(password: str = PLANTED, mechanism: str = "SCRAM-SHA-256") -> ScramCredential:
    return ScramCredential.of_password(password, mechanism, salt=SALT, iterations=LEAST_ITERATIONS)


def file_with(text: object, mechanism: str = "SCRAM-SHA-256") -> str:
    """A file with one user, who has this credential."""
    return json.dumps({"users": {"alice": {mechanism: text}}})


@pytest.mark.parametrize(("mechanism", "digest"), [("SCRAM-SHA-256", "sha256"), ("SCRAM-SHA-512", "sha512")])
def test_credential_has_the_keys_of_the_rfc(mechanism: str, digest: str) -> None:
    salted = hashlib.pbkdf2_hmac(digest, PLANTED.encode(), SALT, LEAST_ITERATIONS)
    client_key = hmac.digest(salted, b"Client Key", digest)

    made = credential(mechanism=mechanism)

    assert made == ScramCredential(
        salt=SALT,
        stored_key=hashlib.new(digest, client_key).digest(),
        server_key=hmac.digest(salted, b"Server Key", digest),
        iterations=LEAST_ITERATIONS,
    )


def test_password_is_normalized_as_saslprep_says() -> None:
    assert credential("I\N{SOFT HYPHEN}X") == credential("IX")
    assert credential("\N{FEMININE ORDINAL INDICATOR}") == credential("a")


@pytest.mark.parametrize(
    ("password", "iterations", "message"),
    [
        pytest.param("", 4096, "the password is empty: expected a text", id="no password"),
        pytest.param(
            f"{PLANTED}\x07", 4096, "the password has characters that SCRAM does not allow (RFC 4013)", id="control"
        ),
        pytest.param(
            f"{PLANTED}\udcff", 4096, "the password has characters that SCRAM does not allow (RFC 4013)", id="surrogate"
        ),
        pytest.param(PLANTED, 4095, "iterations=4095: expected 4096 to 1000000", id="too few iterations"),
        pytest.param(PLANTED, 1_000_001, "iterations=1000001: expected 4096 to 1000000", id="too many iterations"),
    ],
)
@pytest.mark.rule("AUTH-8", "AUTH-12")
def test_password_or_iterations_that_scram_does_not_allow_are_refused(
    password: str, iterations: int, message: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        ScramCredential.of_password(password, "SCRAM-SHA-256", salt=SALT, iterations=iterations)

    assert str(refused.value) == message


def test_credential_is_written_and_read_in_kafkas_form() -> None:
    read = ScramCredential.parse(TEXT)

    assert read == ScramCredential(salt=SALT, stored_key=bytes(32), server_key=bytes(32), iterations=4096)
    assert read.to_text() == TEXT


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "expected salt=...,stored_key=...,server_key=...,iterations=...", id="empty"),
        pytest.param(TEXT[:-5], "expected salt=...", id="no iterations"),
        pytest.param(f"{TEXT},x=y", "expected salt=...", id="one field more"),
        pytest.param(f"{TEXT}0000", "expected salt=...", id="eight digits"),
        pytest.param(f"{TEXT}\n", "expected salt=...", id="a line end"),
        pytest.param(TEXT.replace("salt=AA", "salt=A"), "expected base64: ", id="no base64"),
        pytest.param(TEXT.replace("salt=AA", "salt=é"), "expected base64: ", id="not ASCII"),
        pytest.param(TEXT.replace("AAECAwQFBgcICQoLDA0ODw==", "AAECAwQFBgcICQo="), "the salt has 11 bytes", id="salt"),
        pytest.param(TEXT.replace("4096", "4095"), "iterations=4095: expected 4096 to 1000000", id="too few"),
        pytest.param(TEXT.replace("4096", "9999999"), "iterations=9999999: expected 4096 to 1000000", id="too many"),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_malformed_credential_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        ScramCredential.parse(text)


def test_file_is_read_as_it_was_written() -> None:
    users = Credentials()
    for name in ("bob", "alice", "q\ud800"):
        for mechanism in reversed(SCRAM_MECHANISMS):
            users = users.with_user(name, mechanism, credential(name.encode(errors="replace").decode(), mechanism))

    assert Credentials.parse(users.to_text()) == users
    peppered = users.with_pepper(PEPPER)
    assert Credentials.parse(peppered.to_text()) == peppered.with_pepper(bytes(PEPPER_BYTES))
    assert list(json.loads(users.to_text())["users"]) == ["alice", "bob", "q\ud800"]


@pytest.mark.parametrize(
    "text",
    [
        *("", "null", "1", "[]", "{}", '{"users": 1}', '{"users": []}', '{"users": {"a": 1}}', '{"users": {"a": [1]}}'),
        *('{"users": {}, "pepper": 1}', '{"users": {}, "pepper": null}', '{"users": {}, "pepper": "?"}'),
        pytest.param("[" * 100_000, id="nested too deep"),
        pytest.param("9" * 5000, id="a number of 5000 digits"),
        pytest.param(TEXT, id="no JSON"),
    ],
)
def test_file_that_is_no_file_of_credentials_is_refused(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Credentials.parse(text)

    assert str(refused.value) == (
        'the file of credentials is malformed: expected {"users": {"<name>": {"<mechanism>": "<credential>"}}}, as '
        "`kraft credentials` writes it"
    )


def test_pepper_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^the pepper in the file of credentials has 3 bytes: expected 32$"):
        Credentials.parse('{"users": {}, "pepper": "AAAA"}')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            file_with(TEXT, "SCRAM-SHA-1"),
            "the file of credentials has mechanism SCRAM-SHA-1 for user alice: expected SCRAM-SHA-256 or SCRAM-SHA-512",
            id="another mechanism",
        ),
        pytest.param(
            file_with(7), "the file of credentials has a malformed one for user alice: expected salt=", id="a number"
        ),
        pytest.param(
            file_with(TEXT.replace("4096", "1")),
            "the file of credentials has a malformed one for user alice: iterations=1: expected 4096 to 1000000",
            id="one iteration",
        ),
        pytest.param(
            file_with(TEXT, "SCRAM-SHA-512"),
            "the file of credentials has a malformed one for user alice: expected keys of 64 bytes",
            id="keys of SHA-256 for SHA-512",
        ),
        pytest.param(
            file_with(TEXT.replace(f"server_key={KEY_32}", f"server_key={KEY_64}")),
            "the file of credentials has a malformed one for user alice: expected keys of 32 bytes",
            id="keys of two lengths",
        ),
    ],
)
@pytest.mark.rule("AUTH-8")
def test_malformed_credential_in_a_file_is_named_by_its_user(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}") as refused:
        Credentials.parse(text)

    assert KEY_32 not in str(refused.value)


def test_user_is_added_replaced_and_removed() -> None:
    first, second = credential("1"), credential("2")

    one = Credentials().with_user("a", "SCRAM-SHA-256", first)
    two = one.with_user("b", "SCRAM-SHA-256", first).with_user("a", "SCRAM-SHA-512", second)

    assert two.by_user == {
        "a": {"SCRAM-SHA-256": first, "SCRAM-SHA-512": second},
        "b": {"SCRAM-SHA-256": first},
    }
    assert one.with_user("a", "SCRAM-SHA-256", second).by_user == {"a": {"SCRAM-SHA-256": second}}
    assert two.with_pepper(PEPPER).without_user("b").with_user("b", "SCRAM-SHA-256", first).pepper == PEPPER
    assert two.without_user("b").without_user("nobody").by_user.keys() == {"a"}


@pytest.mark.parametrize("name", ["a", "A.b_c@d+e-9", "x" * 200])
def test_name_that_a_principal_can_have_is_returned(name: str) -> None:
    assert check_user_name(name) == name


@pytest.mark.parametrize("name", ["", "x" * 201, "a b", "a,b", "a=b", "ä", "a\n", "*", "a;b", "User:a"])
def test_name_that_a_principal_cannot_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as refused:
        check_user_name(name)

    assert str(refused.value) == f"user {name!r}: expected 1 to 200 letters, digits and characters of . _ @ + -"


def test_default_is_between_the_bounds() -> None:
    assert LEAST_ITERATIONS < DEFAULT_ITERATIONS < MOST_ITERATIONS
