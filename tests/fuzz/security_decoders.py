"""What says who a client is and what it may do: no bytes prove a name, and what is accepted has one meaning only."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace

from raft.config.principals import PrincipalRules
from raft.config.security import login_module
from raft.errors import AuthenticationError, ConfigError
from raft.runtime.client_quotas import LONGEST_THROTTLES_S, ClientQuotas
from raft.security.credentials import (
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    SCRAM_MECHANISMS,
    Credentials,
    ScramCredential,
)
from raft.security.jaas import JaasEntry
from raft.security.operations import Operation
from raft.security.quotas import QuotaKind, Quotas
from raft.security.rules import EVERYONE, Rules
from raft.security.sasl_client import ScramAuthenticator
from raft.security.sasl_server import ScramVerifier
from tests.fuzz.decoder import Decoder, MemoryBound, Sample
from tests.security.scram import RFC_7677, Proof

MECHANISM = "SCRAM-SHA-256"
SUBJECT = "CN=a,O=b"
"""Short, because some regular expressions take exponential time."""

_CREDENTIAL = ScramCredential.of_password(RFC_7677.password, MECHANISM, salt=RFC_7677.salt, iterations=LEAST_ITERATIONS)

_BOUND = MemoryBound(fixed_bytes=256 << 10, per_byte=400)
"""Regular expressions keep a context for each repetition, and parsers an object for each of two bytes."""

_PATTERNS_BOUND = MemoryBound(fixed_bytes=1 << 20, per_byte=4000)
"""A compiled pattern has a tree and code of its own, and a set of characters a table of all characters."""


def prove_to_node(content: bytes) -> str | None:
    """Send lines to a node as messages of SCRAM; only the right proof names the user.

    Raises:
        AuthenticationError: a message is refused.
        AssertionError: another proof is accepted.
    """
    asked: list[str] = []

    def find(name: str) -> ScramCredential:
        asked.append(name)
        return _CREDENTIAL

    verifier = ScramVerifier(MECHANISM, find, nonce=RFC_7677.node_nonce)
    messages = content.split(b"\n")[:2]
    answers = [verifier.respond(message) for message in messages]
    if len(messages) < 2:
        assert verifier.user is None, "a name is proved by one message"
        return None
    first, final = (message.decode() for message in messages)
    start, _, proof = final.rpartition(",p=")
    expected = replace(_proof(first, answers[0].decode()), final_start=start)
    assert b64decode(proof) == b64decode(expected.client_final.rpartition(",p=")[2]), "another proof is accepted"
    assert answers[1].decode() == expected.node_final, "the node does not prove what it knows"
    assert [verifier.user] == asked, "another name than that of the credential"
    return verifier.user


def prove_to_client(content: bytes) -> bool:
    """Send lines to a client as the messages of a node; only a node that knows the password completes the proof.

    Raises:
        AuthenticationError: a message is refused.
        AssertionError: another proof is accepted.
    """
    client = ScramAuthenticator(MECHANISM, RFC_7677.user, RFC_7677.password, nonce=RFC_7677.client_nonce)
    client.respond(b"")
    messages = content.split(b"\n")[:2]
    for message in messages:
        client.respond(message)
    assert client.is_complete is (len(messages) == 2)
    if client.is_complete:
        node_first, node_final = (message.decode() for message in messages)
        right = _proof(RFC_7677.client_first, node_first).node_final
        assert b64decode(node_final.split(",")[0][2:]) == b64decode(right[2:]), "another proof is accepted"
    return client.is_complete


def _proof(client_first: str, node_first: str) -> Proof:
    return Proof.of(MECHANISM, RFC_7677.password, client_first, node_first)


def read_jaas(content: bytes) -> JaasEntry:
    """Read an entry of JAAS, write its options between quotation marks, and read them again."""
    entry = JaasEntry.parse(content.decode(errors="surrogateescape"), "PLAIN")
    options = " ".join(f"{_quoted(name)}={_quoted(value)}" for name, value in entry.options.items())
    again = JaasEntry.parse(f"{login_module('PLAIN')} required {options};", "PLAIN")
    assert again == entry, "it changes when it is written and read"
    assert all(f"user_{name}" in entry.options for name in entry.users())
    return entry


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def read_credentials(content: bytes) -> Credentials:
    """Read a file of credentials, write it and read it again; each credential can be used."""
    credentials = Credentials.parse(content.decode(errors="replace"))
    assert Credentials.parse(credentials.to_text()) == credentials, "it changes when it is written and read"
    for name in (*credentials.by_user, "mallory"):
        for mechanism in SCRAM_MECHANISMS:
            found = credentials.find(name, mechanism, pepper=b"pepper")
            assert LEAST_ITERATIONS <= found.iterations <= MOST_ITERATIONS
            assert (
                len(found.stored_key) == len(found.server_key) == {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}[mechanism]
            )
    return credentials


def read_rules(content: bytes) -> Rules:
    """Read a file of rules; what it allows is what Kafka's operations include."""
    rules = Rules.parse(content.decode(errors="replace"), super_users=frozenset())
    callers = {caller for principals in rules.allowed.values() for caller in principals}
    for caller in {*callers, *rules.observers, *(each for voter in rules.voters.values() for each in voter)}:
        assert caller.startswith("User:")
        assert rules.allow(caller, Operation.DESCRIBE), "each operation includes DESCRIBE"
    for node_id, principals in rules.voters.items():
        assert EVERYONE not in principals, "everyone may speak as a voter"
        assert 0 <= node_id < 1 << 31
        assert not rules.allow_peer("User:mallory!", node_id, is_voter=True)
    return rules


def read_quotas(content: bytes) -> Quotas:
    """Read a file of quotas, and let each entity in it use a little."""
    quotas = Quotas.parse(content.decode(errors="replace"))
    counted = ClientQuotas(lambda: quotas, lambda: 1_000.0)
    for user, client_id in quotas.limits:
        for kind in QuotaKind:
            pace = counted.pace(kind, user or "another", client_id or "")
            assert (pace is None) is (quotas.of(kind, user or "another", client_id or "") is None)
            if pace is not None:
                counted.use(pace, 1.0)
                assert 0 <= counted.throttle_s(pace) <= LONGEST_THROTTLES_S[kind], "it is throttled for too long"
    return quotas


def read_principal_rules(content: bytes) -> str | None:
    """Read the rules that name clients, and apply them to a subject."""
    rules = PrincipalRules.parse("ssl.principal.mapping.rules", content.decode(errors="replace"))
    assert rules.rules
    return rules.name_of(SUBJECT)


def _text(name: str, text: str) -> tuple[str, bytes]:
    return name, text.encode()


def _samples(decode: object, *named: tuple[str, bytes]) -> tuple[Sample, ...]:
    assert callable(decode)
    return tuple(Sample(name=name, content=content, decode=decode) for name, content in named)


_JAAS = f'{login_module("PLAIN")} required username="node1" password="a\\"b" \'user_x@y\'=z;'
_CREDENTIALS = Credentials().with_user("alice", MECHANISM, _CREDENTIAL).with_user("bob", MECHANISM, _CREDENTIAL)
_RULES = """
# Who may do what. Most of the damage is done here, so that some of the files are still files of rules afterwards.
[allow]
read = ["User:a", "User:*"]
append = ["User:a"]
describe = []
[allow.peer]
1 = ["User:node1"]
observers = ["User:CN=m,O=x"]
"""
_QUOTAS = """
[[quota]]
user = "spark"
producer_byte_rate = 10485760
[[quota]]
user = "<default>"
client-id = "nightly"
request_percentage = 0.5
consumer_byte_rate = 1
"""
_SCRAM_WORDS = (
    *(
        b"n,,",
        b"y,,",
        b"p=tls-unique,,",
        b"a=bob,",
        b"n=bob,",
        b"m=x,",
        b"tokenauth=true",
        b"r=",
        b"s=",
        b"=2C",
        b"=3D",
    ),
    *(
        b",",
        b"=",
        b"\n",
        b"i=1",
        b"i=4096",
        b"i=999999999999",
        b"v=",
        b"e=other-error",
        b"p=AAAA",
        b"\xc2\xad",
        b"\xff",
    ),
)

SECURITY_DECODERS = (
    Decoder(
        name="SCRAM messages of a client",
        samples=_samples(
            prove_to_node,
            _text("a proof", f"{RFC_7677.client_first}\n{RFC_7677.client_final}"),
            _text("the first one", RFC_7677.client_first),
        ),
        refusals=(AuthenticationError,),
        bound=_BOUND,
        words=_SCRAM_WORDS,
    ),
    Decoder(
        name="SCRAM messages of a node",
        samples=_samples(
            prove_to_client,
            _text("a proof", f"{RFC_7677.node_first}\n{RFC_7677.node_final}"),
            _text("the first one", RFC_7677.node_first),
        ),
        refusals=(AuthenticationError,),
        bound=_BOUND,
        words=_SCRAM_WORDS,
    ),
    Decoder(
        name="entries of JAAS",
        samples=_samples(read_jaas, _text("an entry", _JAAS)),
        refusals=(ConfigError,),
        bound=_BOUND,
        words=(
            b'"',
            b"'",
            b"\\",
            b"\\101",
            b"\\n",
            b"=",
            b";",
            b" ",
            b"\n",
            b"a=b ",
            b"user_",
            b"\xff",
            b"\xed\xa0\x80",
        ),
    ),
    Decoder(
        name="files of credentials",
        samples=_samples(read_credentials, _text("two users", _CREDENTIALS.to_text())),
        refusals=(ConfigError,),
        bound=_BOUND,
        words=(b'"', b"{}", b"[" * 3000, b"9" * 5000, b"null", b"SCRAM-SHA-512", b"iterations=1", b"=", b'"\\ud800"'),
    ),
    Decoder(
        name="files of quotas",
        samples=_samples(read_quotas, _text("all keys", _QUOTAS)),
        refusals=(ConfigError,),
        bound=_BOUND,
        words=(
            b"[[quota]]",
            b"user",
            b'"<default>"',
            b"[",
            b"=",
            b"\n",
            b"0",
            b"1e-9",
            b"inf",
            b"9" * 400,
            b"[" * 3000,
        ),
    ),
    Decoder(
        name="files of rules",
        samples=_samples(read_rules, _text("all keys", _RULES)),
        refusals=(ConfigError,),
        bound=_BOUND,
        words=(
            b'"User:*"',
            b"User:",
            b"[",
            b"]",
            b"=",
            b"\n",
            b"0",
            b"01",
            b"-1",
            b"9" * 5000,
            b"[" * 3000,
            b".a" * 9,
        ),
    ),
    Decoder(
        name="rules that name clients",
        samples=_samples(
            read_principal_rules,
            _text("two rules", "RULE:^CN=([^,]+),O=(.*)$/$1@$2/L, DEFAULT"),
            _text("escapes", "RULE:^CN=(\\w+)(,.*|$)/\\$\\/$1/U,,RULE:.*/$0/"),
        ),
        refusals=(ConfigError,),
        bound=_PATTERNS_BOUND,
        words=(
            b"RULE:",
            b"/",
            b"$1",
            b"$9",
            b"$",
            b"\\",
            b"DEFAULT",
            b",",
            b"(",
            b")",
            b"[[",
            b"&&",
            b"{9}",
            b"(?i)",
            b"/L",
        ),
    ),
)
