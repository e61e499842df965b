"""Asks a node's HTTP server."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from typing import Any, NamedTuple

from tests.hang import HANG_S


class Answer(NamedTuple):
    """A response."""

    status: int
    content_type: str
    body: str

    def fields(self) -> dict[str, Any]:
        """The fields of a JSON body."""
        found: dict[str, Any] = json.loads(self.body)
        return found


def ask(port: int, path: str, *, method: str = "GET", host: str = "127.0.0.1") -> Answer:
    """Send a request to a server on this machine."""
    connection = HTTPConnection(host, port, timeout=HANG_S)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return Answer(response.status, response.headers["Content-Type"], response.read().decode())
    finally:
        connection.close()
