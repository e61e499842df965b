"""Another user of the machine, who knows the ports and the paths of a quorum beside a driver, and tries everything.

python -m tests.kraft_spark.other_user TASK

TASK is JSON: {"uid": number, "clients": "host:port", "voters": "host:port", "authority": PEM, "paths": [...]}. Everyone
who connects sees the certificate of the authority. The administrator starts
it, and it becomes the other user before it tries anything. It prints one object of JSON: what came of each attempt, by
its name; `DONE` for one that succeeds.
"""

from __future__ import annotations

import json
import os
import ssl
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from confluent_kafka.admin import AdminClient

from raft.client import Client, ClientSettings
from raft.codec import Message
from raft.config.endpoints import addresses
from raft.config.security import NO_SECURITY, ClientSecurity, client_security, login_module
from raft.security.authority import Authority
from raft.types import Endpoint, Offset
from raft.wire.messages.fetch import FetchRequest
from raft.wire.messages.vote import VoteRequest, VoteRequestPartition, VoteRequestTopic
from tests.node.harness.batches import batch_of
from tests.node.harness.properties import TOPIC
from tests.node.harness.requests import fetch_request, list_offsets_request, produce_request
from tests.node.harness.wire import Wire

DONE = "done"
_MECHANISM = "SCRAM-SHA-256"
_GUESS = "guess"
_API_TIMEOUT_MS = 2_000
_LIBRDKAFKA_S = 3

Attempts = Iterator[tuple[str, Callable[[], object]]]


def attempts(clients: Endpoint, voters: Endpoint, authority: str, paths: list[str]) -> Attempts:
    """Yield what is tried, with names."""
    for path in paths:
        yield f"open {path}", lambda path=path: read(Path(path))  # type: ignore[misc]  # the path of now
    nameless = client_security({"security.protocol": "SSL", "ssl.truststore.certificates": authority})
    for name, security in (("no name", nameless), ("a guess", guessing("application", authority))):
        yield from _with_our_client(clients, security, f"as a client with {name}")
        yield from _with_our_client(voters, security, f"at the voters' port with {name}")
    with tempfile.NamedTemporaryFile(suffix=".pem") as keystore:
        Path(keystore.name).write_bytes(Authority.create("kraft-spark").issue("node-1"))
        forged = {"security.protocol": "SSL", "ssl.truststore.certificates": authority}
        forged["ssl.keystore.location"] = keystore.name
        yield from _with_our_client(voters, client_security(forged), "at the voters' port as a voter")
    yield from _with_our_client(clients, NO_SECURITY, "without TLS")
    for name, settings in (("no name", {}), ("a guess", _GUESSING_OF_LIBRDKAFKA)):
        yield f"list topics with librdkafka and {name}", lambda settings=settings: list_topics(clients, settings)  # type: ignore[misc]
    for endpoint, port in ((clients, "clients'"), (voters, "voters'")):
        for request, version in REQUESTS:
            name = f"send {type(request).__name__}-v{version} to the {port} port"
            yield name, lambda place=endpoint, each=request, at=version: send(place, each, at)  # type: ignore[misc]
        yield f"send other bytes to the {port} port", lambda place=endpoint: send_bytes(place)  # type: ignore[misc]


def read(path: Path) -> None:
    """Read a file, or list a folder."""
    if path.is_dir():
        list(path.iterdir())
    path.read_bytes()


def guessing(user: str, authority: str) -> ClientSecurity:
    """Return the security of a client that guesses the password of a user."""
    jaas = f'{login_module(_MECHANISM)} required username="{user}" password="{_GUESS}";'
    keys = {"security.protocol": "SASL_SSL", "sasl.mechanism": _MECHANISM, "sasl.jaas.config": jaas}
    return client_security(keys | {"ssl.truststore.certificates": authority})


_GUESSING_OF_LIBRDKAFKA = {
    "security.protocol": "SASL_SSL",
    "enable.ssl.certificate.verification": "false",
    "sasl.mechanism": _MECHANISM,
    "sasl.username": "application",
    "sasl.password": _GUESS,
}


def _with_our_client(endpoint: Endpoint, security: ClientSecurity, how: str) -> Attempts:
    settings = ClientSettings(bootstrap_servers=(endpoint,), api_timeout_ms=_API_TIMEOUT_MS, security=security)

    def call(use: Callable[[Client], object]) -> Callable[[], object]:
        def connect() -> object:
            with Client(settings) as client:
                return use(client)

        return connect

    yield f"read {how}", call(lambda client: client.fetch(Offset(0)))
    yield f"append {how}", call(lambda client: client.append(batch_of(b"of another user")))
    yield f"describe {how}", call(lambda client: client.describe_quorum())


def list_topics(endpoint: Endpoint, settings: dict[str, str]) -> None:
    """List the topics with librdkafka."""
    AdminClient({"bootstrap.servers": str(endpoint), **settings}).list_topics(timeout=_LIBRDKAFKA_S)


REQUESTS: tuple[tuple[Message, int], ...] = (
    (produce_request(batch_of(b"of another user")), 9),
    (fetch_request(0), 12),
    (FetchRequest(replica_id=2, max_wait_ms=0, min_bytes=0, topics=fetch_request(0).topics), 12),
    (list_offsets_request(-1), 7),
    (
        VoteRequest(
            cluster_id=None,
            voter_id=1,
            topics=(
                VoteRequestTopic(
                    topic_name=TOPIC,
                    partitions=(
                        VoteRequestPartition(
                            partition_index=0, replica_epoch=1_000, replica_id=2, last_offset_epoch=999, last_offset=999
                        ),
                    ),
                ),
            ),
        ),
        1,
    ),
)
"""Requests that come first on a connection, without a name."""


def send(endpoint: Endpoint, request: Message, version: int) -> None:
    """Send a request; return when there is a response."""
    with Wire(endpoint, tls=_unchecked()) as wire:
        wire.send(request, version)
        wire.frame()


def send_bytes(endpoint: Endpoint) -> None:
    """Send bytes that are no request; return when there is a response."""
    with Wire(endpoint, tls=_unchecked()) as wire:
        wire.send_bytes(b"\0\0\0\x10GET / HTTP/1.1\r\n")
        wire.frame()


def _unchecked() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def outcome(attempt: Callable[[], object]) -> str:
    """Say what came of an attempt."""
    try:
        attempt()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return DONE


def main() -> None:
    """Run it."""
    task = json.loads(sys.argv[1])
    (clients,), (voters,) = (addresses(port, task[port]) for port in ("clients", "voters"))
    os.setgroups([])
    os.setgid(task["uid"])
    os.setuid(task["uid"])
    print(
        json.dumps(
            {name: outcome(attempt) for name, attempt in attempts(clients, voters, task["authority"], task["paths"])}
        )
    )


if __name__ == "__main__":
    main()
