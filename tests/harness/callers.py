"""Finds which node has opened a connection, by the process that has its socket.

Linux answers which inode a socket has. Its table of all sockets, which psutil reads, is long after many connections.

    request   header of netlink (16 bytes), family, protocol, ext, pad, states (4), socket (48)
    response  header of netlink (16 bytes), family, state, timer, retrans, socket (48), 4 numbers (16), inode (4)
    socket    own port, other port, own address (16), other address (16), interface (4), cookie (8)

Source: sock_diag(7).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import psutil

from tests.network.network import CLIENTS
from tests.node.harness.properties import HOST
from tests.processes.node_process import NodeProcess

_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_FAMILY = struct.Struct("=BBBBI")
_SOCKET = struct.Struct("!HH16s16s4s8s")
_ADDRESS = socket.inet_aton(HOST) + bytes(12)
_ANY_STATE, _ANY_COOKIE = (1 << 32) - 1, b"\xff" * 8
_INODE = slice(84, 88)
_RESPONSE_BYTES = 1 << 12
_ANSWERS = hasattr(socket, "AF_NETLINK")


class Callers:
    """The processes that open connections to voters.

    Attributes:
        nodes: by node id; none at first, because the proxies are there before the nodes.
    """

    def __init__(self) -> None:
        self.nodes: Mapping[int, NodeProcess] = {}

    def of_socket(self, port: int, other_port: int) -> int:
        """Return the node that has a socket; `CLIENTS` if no node that runs has it.

        Args:
            port: of the socket.
            other_port: that it is connected to.
        """
        inode = _inode_of(port, other_port) if _ANSWERS else None
        for node_id, node in self.nodes.items():
            # A node may be killed meanwhile.
            with suppress(AssertionError, OSError, psutil.Error):
                if _has_inode(node.pid, inode) if _ANSWERS else _has_port(node.pid, port):
                    return node_id
        return CLIENTS


def _inode_of(port: int, other_port: int) -> int | None:
    wanted = _SOCKET.pack(port, other_port, _ADDRESS, _ADDRESS, bytes(4), _ANY_COOKIE)
    content = _FAMILY.pack(socket.AF_INET, socket.IPPROTO_TCP, 0, 0, _ANY_STATE) + wanted
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(content), _BY_FAMILY, _REQUEST, 0, 0) + content)
        response = kernel.recv(_RESPONSE_BYTES)
    _, kind, *_ = _HEADER.unpack_from(response)
    return int.from_bytes(response[_INODE], "little") if kind == _BY_FAMILY else None


def _has_inode(pid: int, inode: int | None) -> bool:
    wanted = f"socket:[{inode}]"
    return any(_target_of(descriptor) == wanted for descriptor in Path(f"/proc/{pid}/fd").iterdir())


def _target_of(descriptor: Path) -> str | None:
    try:
        return str(descriptor.readlink())
    except OSError:
        return None  # It is closed meanwhile.


def _has_port(pid: int, port: int) -> bool:
    return any(connection.laddr.port == port for connection in psutil.Process(pid).net_connections("tcp"))
