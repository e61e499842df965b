"""A node answers for an unknown user like for a known one: always the same salt and iterations, as a known user has."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from raft.config.listener_security import ListenerSecurity
from raft.config.security import SecurityProtocol
from raft.security.credentials import (
    DEFAULT_ITERATIONS,
    PEPPER_BYTES,
    SALT_BYTES,
    SCRAM_MECHANISMS,
    Credentials,
    ScramCredential,
)
from raft.security.listener_users import ListenerUsers

PEPPER = b"pepper"
NAMES = [f"user{number}" for number in range(100)]

each_mechanism = pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)


def salt_for(users: ListenerUsers, name: str) -> bytes:
    """The salt that a node sends to a client that has not proved anything."""
    verifier = users.verifiers.begin("SCRAM-SHA-256", secrets.token_hex(20))
    return verifier.respond(f"n,,n={name},r=nonce".encode()).split(b",")[1]


def credential(*, salt_bytes: int = 16, iterations: int = 4096) -> ScramCredential:
    return ScramCredential(salt=bytes(salt_bytes), stored_key=bytes(32), server_key=bytes(32), iterations=iterations)


def shapes(credentials: Credentials, names: list[str] = NAMES) -> list[tuple[int, int]]:
    """The salt's length and the iterations of each name."""
    found = [credentials.find(name, "SCRAM-SHA-256", pepper=PEPPER) for name in names]
    return [(len(each.salt), each.iterations) for each in found]


@each_mechanism
def test_known_user_has_its_own_credential(mechanism: str) -> None:
    known = credential()

    assert Credentials().with_user("alice", mechanism, known).find("alice", mechanism, pepper=PEPPER) is known


@each_mechanism
@pytest.mark.rule("AUTH-6")
def test_unknown_user_has_always_the_same_credential(mechanism: str) -> None:
    first = Credentials().find("mallory", mechanism, pepper=PEPPER)
    again = Credentials().with_user("alice", "SCRAM-SHA-1", credential()).find("mallory", mechanism, pepper=PEPPER)

    assert first == again


@each_mechanism
@pytest.mark.rule("AUTH-6")
def test_unknown_users_have_credentials_of_their_own(mechanism: str) -> None:
    found = [Credentials().find(name, mechanism, pepper=PEPPER) for name in NAMES]
    found += [Credentials().find(NAMES[0], mechanism, pepper=b"another pepper")]
    other = next(each for each in SCRAM_MECHANISMS if each != mechanism)
    found += [Credentials().find(NAMES[0], other, pepper=PEPPER)]

    for values in zip(*((each.salt, each.stored_key, each.server_key) for each in found), strict=True):
        assert len(set(values)) == len(found)


@pytest.mark.parametrize(("mechanism", "key_bytes"), [("SCRAM-SHA-256", 32), ("SCRAM-SHA-512", 64)])
def test_credential_of_an_unknown_user_has_the_form_of_its_mechanism(mechanism: str, key_bytes: int) -> None:
    found = Credentials().find("a name with \ud800", mechanism, pepper=PEPPER)

    assert (len(found.salt), found.iterations) == (SALT_BYTES, DEFAULT_ITERATIONS)
    assert len(found.stored_key) == len(found.server_key) == key_bytes


@pytest.mark.rule("AUTH-6")
def test_unknown_user_has_the_iterations_of_the_known_ones() -> None:
    """With the default, a client would see the difference where all known users have another number."""
    credentials = Credentials().with_user("alice", "SCRAM-SHA-256", credential(salt_bytes=25, iterations=5000))

    assert set(shapes(credentials)) == {(25, 5000)}


@pytest.mark.rule("AUTH-6")
def test_user_of_the_other_mechanism_only_is_unknown_in_this_one() -> None:
    credentials = Credentials().with_user("user1", "SCRAM-SHA-512", credential(salt_bytes=25, iterations=5000))

    assert set(shapes(credentials)) == {(SALT_BYTES, DEFAULT_ITERATIONS)}


@pytest.mark.rule("AUTH-6")
def test_each_number_of_iterations_is_that_of_some_unknown_users() -> None:
    credentials = Credentials()
    for name, iterations in (("a", 4096), ("b", 5000), ("c", 6000), ("d", 6000)):
        credentials = credentials.with_user(name, "SCRAM-SHA-256", credential(iterations=iterations))

    counts = [shapes(credentials).count((16, iterations)) for iterations in (4096, 5000, 6000)]

    assert sum(counts) == len(NAMES)
    assert min(counts) > 15


@pytest.mark.rule("AUTH-6")
def test_unknown_user_keeps_its_iterations_when_a_user_with_others_is_added() -> None:
    before = (
        Credentials()
        .with_user("a", "SCRAM-SHA-256", credential())
        .with_user("b", "SCRAM-SHA-256", credential(iterations=5000))
    )
    after = before.with_user("c", "SCRAM-SHA-256", credential(iterations=6000))

    changes = set(zip(shapes(before), shapes(after), strict=True))

    assert changes <= {((16, n), (16, m)) for n in (4096, 5000) for m in (n, 6000)}


@pytest.fixture
def node(tmp_path: Path) -> ListenerSecurity:
    """How a listener of each node is secured; alice is the only user."""
    file = tmp_path / "credentials.json"
    known = Credentials(pepper=secrets.token_bytes(PEPPER_BYTES)).with_user("alice", "SCRAM-SHA-256", credential())
    file.write_text(known.to_text())
    return ListenerSecurity(
        protocol=SecurityProtocol.SASL_SSL, mechanisms=("SCRAM-SHA-256",), credentials_file=str(file)
    )


@pytest.mark.rule("AUTH-6")
def test_two_nodes_and_a_node_that_was_restarted_send_the_same_salt_for_every_name(node: ListenerSecurity) -> None:
    """If only the salts of users that exist were the same, a client could find out which users exist."""
    nodes = [ListenerUsers(node) for _ in range(2)]

    for name in ("alice", *NAMES):
        assert salt_for(nodes[0], name) == salt_for(nodes[1], name), name


@pytest.mark.rule("AUTH-6")
def test_salt_of_an_unknown_user_stays_when_the_users_change(node: ListenerSecurity) -> None:
    users = ListenerUsers(node)
    before = salt_for(users, "mallory")
    file = Path(node.credentials_file or "")

    file.write_text(users.credentials.with_user("bob", "SCRAM-SHA-256", credential()).without_user("alice").to_text())
    users.renew(pytest.fail)

    assert users.credentials.by_user.keys() == {"bob"}
    assert salt_for(users, "mallory") == before


def test_only_a_file_without_a_pepper_is_warned_of(node: ListenerSecurity) -> None:
    users = ListenerUsers(node)
    with_pepper = users.warning

    Path(node.credentials_file or "").write_text(Credentials().to_text())
    users.renew(pytest.fail)

    assert with_pepper is None
    assert str(users.warning).startswith(
        f"{node.credentials_file} has no pepper, so clients can find out which users exist"
    )
