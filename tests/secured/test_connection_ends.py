"""Programs that leave connections open do not disturb later tests."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.secured import connection_ends
from tests.security.certificates import HOST, Files

Run = Callable[[Coroutine[Any, Any, None]], None]


def leave_a_connection_open(files: Files, run: Run) -> None:
    """Run a program that closes a connection with TLS and does not wait for its end; the server does not close it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.path("node"))
    trusting = ssl.create_default_context(cafile=files.path("authority"))
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def accept() -> ssl.SSLSocket:
            connection = context.wrap_socket(server.accept()[0], server_side=True)
            connection.sendall(b"open")
            return connection

        async def open_and_close() -> None:
            address = server.getsockname()
            reader, writer = await asyncio.open_connection(*address, ssl=trusting, server_hostname=HOST)
            assert await reader.readexactly(4) == b"open"
            writer.close()

        accepted = pool.submit(accept)
        try:
            run(open_and_close())
        finally:
            accepted.result(timeout=20).close()
    gc.collect()


def test_connection_whose_server_does_not_close_it_is_ended(tmp_path: Path) -> None:
    leave_a_connection_open(Files.create(tmp_path), connection_ends.run)


def test_asyncio_leaves_such_a_connection_open(tmp_path: Path) -> None:
    files = Files.create(tmp_path)

    with pytest.warns(ResourceWarning, match="unclosed"):
        leave_a_connection_open(files, asyncio.run)


def test_error_of_the_program_is_raised() -> None:
    async def fail() -> None:
        raise ValueError("of the program")

    with pytest.raises(ValueError, match="of the program"):
        connection_ends.run(fail())
