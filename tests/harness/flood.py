"""A process that floods nodes with small requests, without a pause, until it is ended.

    python -m tests.harness.flood plain|tls HOST:PORT [HOST:PORT ...]

It opens three connections to each node, sends 50 requests at once on each, and reads the responses. With TLS it proves
no name. It prints `throttled` at the first response that says for how long this client is throttled.
"""

from __future__ import annotations

import socket
import ssl
import struct
import sys
import threading
from collections.abc import Sequence
from contextlib import closing

from raft.config.endpoints import addresses
from raft.types import Endpoint
from raft.wire.frames import encode_request
from raft.wire.messages.api_versions import ApiVersionsRequest
from tests.hostile.ways import nameless_context

CLIENT_ID = "flood"
QUOTA = f"""
[[quota]]
client-id = "{CLIENT_ID}"
request_percentage = 1
"""
"""The file of quotas of a node that throttles it."""

THROTTLED = "throttled"

_CONNECTIONS = 3
_BURST = 50
_VERSION = 1
"""The lowest version whose responses end with the throttle time."""

_REQUESTS = encode_request(ApiVersionsRequest(), _VERSION, correlation_id=1, client_id=CLIENT_ID) * _BURST
_SIZE = struct.Struct(">i")
_TIMEOUT_S = 5.0
_said = threading.Event()


def _flood(node: Endpoint, tls: ssl.SSLContext | None) -> None:
    """Send requests on one connection after the other."""
    while True:
        try:
            connected = socket.create_connection((node.host, node.port), _TIMEOUT_S)
            with closing(connected if tls is None else tls.wrap_socket(connected)) as sent:
                while True:
                    sent.sendall(_REQUESTS)
                    for _ in range(_BURST):
                        _receive(sent)
        except OSError:
            continue


def _receive(connected: socket.socket) -> None:
    """Receive a response."""
    (size,) = _SIZE.unpack(_exactly(connected, _SIZE.size))
    (throttle_time_ms,) = _SIZE.unpack(_exactly(connected, size)[-_SIZE.size :])
    if throttle_time_ms > 0 and not _said.is_set():
        _said.set()
        print(THROTTLED, flush=True)


def _exactly(connected: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = connected.recv(size - len(data))
        if not received:
            raise ConnectionResetError("the node has closed the connection")
        data += received
    return data


def main(arguments: Sequence[str]) -> None:
    """Do what the command line asks for."""
    tls = nameless_context() if arguments[0] == "tls" else None
    threads = [
        threading.Thread(target=_flood, args=(node, tls), daemon=True)
        for node in addresses("nodes", ",".join(arguments[1:]))
        for _ in range(_CONNECTIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1:])
