"""The attacker finds a node that does not close what it must close."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random

import pytest

from tests.hostile import connection
from tests.hostile.attacker import Attacker
from tests.hostile.attacks.attack import AttackInputs
from tests.hostile.identity import Identity
from tests.hostile.scene import Scene
from tests.hostile.ways import Ways
from tests.node.harness.properties import HOST

Node = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

ATTACK_S = 0.5


async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read, and never close."""
    while await reader.read(1 << 16):
        pass
    writer.close()


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a response, and close."""
    await reader.read(1)
    writer.write(bytes(100))
    await writer.drain()
    writer.close()


async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close after the first bytes."""
    await reader.read(1)
    writer.close()


async def attacked(node: Node, tmp_path: Path) -> Attacker:
    server = await asyncio.start_server(node, HOST, 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        scene = Scene(
            client_ports={1: port},
            voter_ports={1: port},
            metrics_ports={},
            leader_id=1,
            leader_epoch=1,
            identity=Identity.STRANGER,
            folder=str(tmp_path),
        )
        dice = Random(1)
        inputs = AttackInputs(scene=scene, recordings=[b"request"], proofs=[], dice=dice, ways=Ways(scene, dice))
        plaintext = Attacker(["PlaintextRequests"], inputs)
        await plaintext.run(ATTACK_S)
        return plaintext


@pytest.mark.parametrize(
    ("node", "violation"),
    [
        pytest.param(keep, "a listener with TLS keeps a connection without it", id="does not close"),
        pytest.param(serve, "a listener with TLS serves a connection without it", id="responds"),
    ],
)
def test_node_that_does_not_refuse_is_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, node: Node, violation: str
) -> None:
    # No round is over before the attack is: the end of the attack waits for them.
    monkeypatch.setattr(connection, "CLOSED_WITHIN_S", ATTACK_S + 1)

    with pytest.raises(AssertionError, match=violation):
        asyncio.run(attacked(node, tmp_path))


def test_node_that_closes_is_not_complained_about(tmp_path: Path) -> None:
    plaintext = asyncio.run(attacked(close, tmp_path))

    assert plaintext.tally.ended["PlaintextRequests"]
