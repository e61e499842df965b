"""The ways in which the neighbour connects: without TLS, with TLS but without a name, and with its name."""

from __future__ import annotations

import ssl
from enum import Enum, auto
from pathlib import Path
from random import Random

from raft.types import Endpoint
from raft.wire.apis import SASL_AUTHENTICATE, SASL_HANDSHAKE
from raft.wire.frames import decode_response
from raft.wire.messages.sasl import SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest
from tests.hostile.connection import Connection
from tests.hostile.encrypted_connection import EncryptedConnection
from tests.hostile.identity import AUTHORITY_FILE, CERTIFICATE_FILE, NEIGHBOUR, Identity
from tests.hostile.scene import Scene
from tests.hostile.scram import MECHANISM, ScramProof
from tests.node.harness.keys import password_of

HANDSHAKE_VERSION = SASL_HANDSHAKE.versions.highest
AUTHENTICATE_VERSION = SASL_AUTHENTICATE.versions.highest

_NONCES = 1 << 128


class Way(Enum):
    """How a connection is opened."""

    PLAIN = auto()
    """Without TLS."""
    NAMELESS = auto()
    """With TLS, and without a name."""
    NAMED = auto()
    """With TLS and the name of the neighbour: by SCRAM for clients, by a certificate on the listeners for voters."""


class Ways:
    """Opens connections of the neighbour.

    Args:
        scene: the attacked quorum.
        dice: draws nonces, and the way of a stranger.
    """

    def __init__(self, scene: Scene, dice: Random) -> None:
        self._scene = scene
        self._dice = dice
        self._nameless = nameless_context() if scene.identity.is_secured else None
        self._named: ssl.SSLContext | None = None
        if scene.identity.has_name:
            folder = Path(scene.folder)
            self._named = ssl.create_default_context(cafile=folder / AUTHORITY_FILE)
            self._named.load_cert_chain(folder / CERTIFICATE_FILE)

    def usual(self) -> Way:
        """Return the way of an attack that has no other one; a stranger takes those by turns that it has."""
        match self._scene.identity:
            case Identity.ANYONE:
                return Way.PLAIN
            case Identity.STRANGER:
                return self._dice.choice((Way.PLAIN, Way.NAMELESS))
            case Identity.CLIENT | Identity.OBSERVER:
                return Way.NAMED

    async def open(self, endpoint: Endpoint, way: Way, *, receive_buffer_bytes: int | None = None) -> Connection:
        """Open a connection.

        Args:
            endpoint: the listener.
            way: how.
            receive_buffer_bytes: see `Connection.connect`.

        Raises:
            OSError, asyncio.IncompleteReadError: the node refuses it.
        """
        if way is Way.PLAIN:
            return await Connection.connect(endpoint, receive_buffer_bytes=receive_buffer_bytes)
        connection = await EncryptedConnection.connect(endpoint, receive_buffer_bytes=receive_buffer_bytes)
        try:
            context = self._named if way is Way.NAMED else self._nameless
            assert context is not None, "the quorum is secured"
            await connection.shake_hands(context)
            if way is Way.NAMED and endpoint not in self._scene.voter_endpoints:
                await self._take_name(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    async def _take_name(self, connection: Connection) -> None:
        response = await prove(connection, ScramProof(NEIGHBOUR, password_of(NEIGHBOUR), self.nonce()))
        if response.error_code:
            raise ConnectionError(f"the node refused the name: {response.error_message}")

    def nonce(self) -> str:
        """Return a new nonce."""
        return f"{self._dice.randrange(_NONCES):032x}"


def nameless_context() -> ssl.SSLContext:
    """Return the TLS of a client that has no certificate, and accepts every node."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


async def prove(connection: Connection, proof: ScramProof) -> SaslAuthenticateResponse:
    """Prove a name by SCRAM; return the last response, which has an error if the proof is wrong.

    Raises:
        OSError, asyncio.IncompleteReadError: the node refuses it.
    """
    await connection.ask(SaslHandshakeRequest(mechanism=MECHANISM), HANDSHAKE_VERSION)
    response = await authenticate(connection, proof.first)
    if response.error_code:
        return response
    return await authenticate(connection, proof.final(response.auth_bytes))


async def authenticate(connection: Connection, token: bytes) -> SaslAuthenticateResponse:
    """Send a message of SASL and receive its response; see `Connection.ask`."""
    frame = await connection.ask(SaslAuthenticateRequest(auth_bytes=token), AUTHENTICATE_VERSION)
    return decode_response(frame, SASL_AUTHENTICATE, AUTHENTICATE_VERSION)[1]
