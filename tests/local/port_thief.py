"""Another program of the machine on the port of a voter that is down: it passes what it receives on to another voter.

SCRAM without TLS is not bound to a connection: a program that passes its messages on has an authenticated one
afterwards. The program has no file of the quorum. It knows the ports.
"""

from __future__ import annotations

import queue
import socket
import ssl
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from raft.wire.apis import SASL_AUTHENTICATE
from raft.wire.frames import decode_response
from tests.hang import HANG_S

_HOST = "127.0.0.1"
_LARGEST_FRAME_BYTES = 1 << 20
_MESSAGES_OF_SCRAM = 2


class PortThief:
    """Takes a port, and passes on the connections to it. The end of the block closes all of them.

    Args:
        port: that a voter has left just now.
        voter_port: of the voter that gets what clients send.
        keystore: private key and certificate that clients of TLS are shown; None without TLS.
    """

    def __init__(self, port: int, voter_port: int, *, keystore: Path | None = None) -> None:
        self._port = port
        self._voter_port = voter_port
        self._outcomes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._stack = ExitStack()
        self._server_side: ssl.SSLContext | None = None
        self._client_side: ssl.SSLContext | None = None
        if keystore is not None:
            self._server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._server_side.load_cert_chain(keystore)
            self._client_side = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            self._client_side.check_hostname = False
            self._client_side.verify_mode = ssl.CERT_NONE

    def __enter__(self) -> Self:
        listener = self._stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        deadline_s = time.monotonic() + HANG_S
        while True:
            try:
                listener.bind((_HOST, self._port))
                break
            except OSError:  # The voter that was killed has not exited yet.
                assert time.monotonic() < deadline_s, "the port is not free"
        listener.listen()
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def steals_a_connection(self) -> bool:
        """Return whether the next connection to the port ends with one to the voter that is authenticated."""
        return self._outcomes.get(timeout=HANG_S)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):  # The block has ended.
            while True:
                client, _ = listener.accept()
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        is_stolen = False
        with client, suppress(OSError, EOFError), socket.create_connection((_HOST, self._voter_port)) as voter:
            client.settimeout(HANG_S)
            voter.settimeout(HANG_S)
            is_stolen = self._prove(client, voter)
        self._outcomes.put(is_stolen)

    def _prove(self, client: socket.socket, voter: socket.socket) -> bool:
        if self._server_side is not None and self._client_side is not None:
            client = self._server_side.wrap_socket(client, server_side=True)
            voter = self._client_side.wrap_socket(voter)
        messages = 0
        while True:
            request = _frame(client)
            voter.sendall(len(request).to_bytes(4, "big") + request)
            response = _frame(voter)
            if int.from_bytes(request[:2], "big") == SASL_AUTHENTICATE.key:
                messages += 1
                _, answer = decode_response(response, SASL_AUTHENTICATE, int.from_bytes(request[2:4], "big"))
                if messages == _MESSAGES_OF_SCRAM:
                    return bool(answer.error_code == 0)
            client.sendall(len(response).to_bytes(4, "big") + response)


def _frame(connection: socket.socket) -> bytes:
    return _received(connection, min(int.from_bytes(_received(connection, 4), "big"), _LARGEST_FRAME_BYTES))


def _received(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise EOFError
        data += part
    return data
