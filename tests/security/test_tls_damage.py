"""Bytes of TLS that are damaged, cut, or repeated: a side fails with an error of this project, or waits for more."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import pytest

from raft.config.listener_security import ClientAuth
from raft.errors import AuthenticationError, DecodeError
from raft.security.tls_channel import TlsChannel
from raft.security.tls_contexts import TlsContexts
from tests.security.certificates import HOST, Files
from tests.security.handshakes import Pair

REQUEST = b"a request of the client, long enough to be damaged at many places"
STEP = 13
"""Every so many positions are damaged: each of them takes a handshake."""

each_version = pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])


@pytest.fixture(scope="module", params=["TLSv1.2", "TLSv1.3"])
def contexts(request: pytest.FixtureRequest, files: Files) -> tuple[TlsContexts, TlsContexts]:
    """The sides of a client and of a node that needs its certificate."""
    versions = (request.param,)
    return (
        TlsContexts(files.settings("client", versions=versions), None),
        TlsContexts(files.settings("node", versions=versions), ClientAuth.REQUIRED),
    )


def pair_of(contexts: tuple[TlsContexts, TlsContexts]) -> Pair:
    client, node = contexts
    return Pair.of(client.present, node.present)


def handshake_lengths(contexts: tuple[TlsContexts, TlsContexts]) -> list[int]:
    """The number of bytes of each flight of a handshake."""
    return [len(data) for _, data in pair_of(contexts).exchange().flights]


def places(lengths: list[int], step: int) -> Iterator[tuple[int, int]]:
    """Yield flights and positions in them."""
    for flight, length in enumerate(lengths):
        for position in range(0, length, step):
            yield flight, position


@pytest.mark.parametrize("bit", [0x01, 0x80], ids=["lowest bit", "highest bit"])
def test_damaged_handshake_fails_or_changes_nothing(contexts: tuple[TlsContexts, TlsContexts], bit: int) -> None:
    """The version in the header of a record is ignored, and a size that is too large makes a side wait."""
    outcomes = {"failed": 0, "open": 0, "waits": 0}
    for flight, position in places(handshake_lengths(contexts), STEP):

        def damage(data: bytes, position: int = position) -> bytes:
            changed = bytearray(data)
            changed[min(position, len(changed) - 1)] ^= bit
            return bytes(changed)

        pair = pair_of(contexts).exchange(damage, flight=flight)

        if pair.client_error or pair.node_error:
            outcomes["failed"] += 1
        elif pair.are_open:
            outcomes["open"] += 1
            pair.client.send(REQUEST)
            assert pair.exchange().received == {"node": REQUEST, "client": b""}, (flight, position)
        else:
            outcomes["waits"] += 1

    assert outcomes["failed"] > 100
    assert outcomes["failed"] > 10 * (outcomes["open"] + outcomes["waits"]), outcomes


def test_cut_handshake_waits_at_every_length(contexts: tuple[TlsContexts, TlsContexts]) -> None:
    for flight, length in places(handshake_lengths(contexts), 5):

        def cut(data: bytes, length: int = length) -> bytes:
            return data[: min(length, len(data) - 1)]  # The length of a signature varies.

        pair = pair_of(contexts).exchange(cut, flight=flight)

        assert not pair.are_open, (flight, length)
        assert (pair.client_error, pair.node_error) == (None, None), (flight, length)
        assert not pair.node.is_ended
        assert not pair.client.is_ended


@pytest.mark.parametrize("side", ["client", "node"])
def test_damaged_data_is_not_passed_on(contexts: tuple[TlsContexts, TlsContexts], side: str) -> None:
    """The size in the header, bytes 3 and 4, may make the side wait for more."""
    pair = pair_of(contexts).exchange()
    source, _ = (pair.node, pair.client) if side == "client" else (pair.client, pair.node)
    source.send(REQUEST)
    data = source.data_to_send()

    for position in range(len(data)):
        again = pair_of(contexts).exchange()
        source, target = (again.node, again.client) if side == "client" else (again.client, again.node)
        source.send(REQUEST)
        changed = bytearray(source.data_to_send())
        changed[position] ^= 0x40

        if position in (3, 4):
            try:
                assert target.receive(bytes(changed)) == b""
            except DecodeError:
                continue
        else:
            with pytest.raises((DecodeError, AuthenticationError)):
                target.receive(bytes(changed))


@each_version
def test_cut_data_waits_at_every_length(files: Files, version: str) -> None:
    versions = (version,)
    pair = pair_of(
        (
            TlsContexts(files.settings(versions=versions), None),
            TlsContexts(files.settings("node", versions=versions), ClientAuth.NONE),
        )
    ).exchange()
    pair.client.send(REQUEST)
    data = pair.client.data_to_send()

    parts = [pair.node.receive(data[at : at + 1]) for at in range(len(data))]

    assert parts == [b""] * (len(data) - 1) + [REQUEST]


def test_repeated_data_is_refused(contexts: tuple[TlsContexts, TlsContexts]) -> None:
    pair = pair_of(contexts).exchange()
    pair.client.send(REQUEST)
    data = pair.client.data_to_send()
    assert pair.node.receive(data) == REQUEST

    with pytest.raises(DecodeError, match=r"^received bytes that are not of this TLS connection: "):
        pair.node.receive(data)


def test_data_of_another_connection_is_refused(contexts: tuple[TlsContexts, TlsContexts]) -> None:
    one, other = pair_of(contexts).exchange(), pair_of(contexts).exchange()
    one.client.send(REQUEST)

    with pytest.raises(DecodeError):
        other.node.receive(one.client.data_to_send())


def test_side_that_sent_damaged_data_does_not_blame_its_certificate(
    contexts: tuple[TlsContexts, TlsContexts],
) -> None:
    """The other side tells it, by an alert; that it could not read the data is no reason never to try again."""
    pair = pair_of(contexts).exchange()
    pair.client.send(REQUEST)
    data = bytearray(pair.client.data_to_send())
    data[-1] ^= 1
    with pytest.raises(DecodeError):
        pair.node.receive(bytes(data))

    with pytest.raises(DecodeError, match="alert bad record mac"):
        pair.client.receive(pair.node.data_to_send())


@pytest.mark.parametrize("is_node", [True, False], ids=["node", "client"])
def test_any_bytes_are_refused_or_not_enough(files: Files, is_node: bool) -> None:
    random = Random(1)
    refused = 0
    for _ in range(300):
        channel = TlsChannel(files.node().present) if is_node else TlsChannel(files.client().present, host=HOST)
        prefix = random.choice(
            [b"", b"\x16\x03\x01", b"\x16\x03\x03\x00\x20", b"\x15\x03\x03\x00\x02", b"\x17\x03\x03"]
        )
        try:
            assert channel.receive(prefix + random.randbytes(random.randrange(1, 200))) == b""
        except AuthenticationError:
            refused += 1
        assert not channel.is_open

    assert refused > 100, "seed 1"


def test_side_that_has_failed_fails_again(contexts: tuple[TlsContexts, TlsContexts]) -> None:
    pair = pair_of(contexts)
    with pytest.raises(AuthenticationError):
        pair.node.receive(b"GET / HTTP/1.1\r\n\r\n")

    with pytest.raises(AuthenticationError):
        pair.node.receive(pair.client.data_to_send())

    assert not pair.node.is_open
