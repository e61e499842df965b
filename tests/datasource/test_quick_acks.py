"""Pending acknowledgements are sent at once, and nothing else happens to a process's files."""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from datasource.batch_reader import KraftBatchReader
from datasource.batch_writer import KraftBatchWriter
from datasource.options import ReadOptions, WriteOptions
from datasource.spark_internals import quick_acks
from datasource.spark_internals.quick_acks import UnpickledByTask, acknowledge_now
from datasource.stream_reader import KraftStreamReader
from datasource.stream_writer import KraftStreamWriter

linux_only = pytest.mark.skipif(not hasattr(socket, "TCP_QUICKACK"), reason="an option of Linux")


class Watched(socket.socket):
    """A socket that remembers on which connections an option was set."""

    set_on: ClassVar[list[int]] = []

    def setsockopt(self, *arguments: Any) -> None:
        super().setsockopt(*arguments)
        self.set_on.append(self.fileno())


@pytest.fixture
def tcp() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection."""
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        here = stack.enter_context(socket.create_connection(listener.getsockname()))
        there = stack.enter_context(listener.accept()[0])
        yield here, there


@linux_only
def test_option_is_set_on_tcp_connections_and_all_of_them_stay_open(
    tcp: tuple[socket.socket, socket.socket], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = tcp
    watched = SimpleNamespace(socket=Watched, TCP_QUICKACK=socket.TCP_QUICKACK, IPPROTO_TCP=socket.IPPROTO_TCP)
    monkeypatch.setattr(quick_acks, "socket", watched)
    local = socket.socketpair()
    with local[0], local[1], (tmp_path / "file").open("w") as file:
        acknowledge_now()

        assert {here.fileno(), there.fileno()} <= set(Watched.set_on)
        assert not {local[0].fileno(), file.fileno()} & set(Watched.set_on)
        file.write("open")
        local[0].sendall(b"open")
    there.sendall(b"open")
    assert here.recv(4) == b"open"


def test_nothing_happens_where_the_option_or_the_list_of_files_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_acks, "_OPEN_FILES", Path("/nowhere"))
    acknowledge_now()
    monkeypatch.delattr(socket, "TCP_QUICKACK", raising=False)
    acknowledge_now()


SERVERS = {"kraft.bootstrap.servers": "localhost:1"}


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (KraftBatchReader, ReadOptions.of(SERVERS)),
        (KraftStreamReader, ReadOptions.of(SERVERS)),
        (KraftBatchWriter, WriteOptions.of(SERVERS)),
        (KraftStreamWriter, WriteOptions.of(SERVERS)),
    ],
)
def test_reader_or_writer_acknowledges_where_a_task_unpickles_it(
    kind: Callable[[Any], UnpickledByTask], options: ReadOptions | WriteOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = pickle.dumps(kind(options))
    called_in: list[int] = []
    monkeypatch.setattr(quick_acks, "acknowledge_now", lambda: called_in.append(os.getpid()))

    restored = pickle.loads(data)

    assert called_in == [os.getpid()]
    assert vars(restored)["_options"] == options
