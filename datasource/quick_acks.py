"""Spares each micro-batch the 40 ms of a delayed acknowledgement.

The JVM writes a task's command to its Python worker in several small pieces. By Nagle's algorithm it holds the last
piece back until the one before is acknowledged, and Linux delays an acknowledgement by up to 40 ms where the receiver
has nothing to send. The worker has read the command by the time that it restores our reader, and waits for the rest
next: an acknowledgement that leaves at that moment lets the rest come at once.

Linux leaves the quick mode by itself, so this is called for each task. Other systems do not have the option.

Source: tcp(7), TCP_QUICKACK.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

_OPEN_FILES = Path("/proc/self/fd")


def acknowledge_now() -> None:
    """Send the acknowledgements that are pending on this process's TCP connections; does nothing where that fails."""
    option = getattr(socket, "TCP_QUICKACK", None)
    if option is None:
        return
    try:
        descriptors = [int(entry.name) for entry in _OPEN_FILES.iterdir()]
    except OSError:
        return
    for descriptor in descriptors:
        _acknowledge(descriptor, option)


def _acknowledge(descriptor: int, option: int) -> None:
    try:
        if not os.readlink(_OPEN_FILES / str(descriptor)).startswith("socket:"):  # noqa: PTH115 - not a path of files
            return
        connection = socket.socket(fileno=descriptor)
    except OSError:
        return  # closed meanwhile, as the one by which the folder was read
    try:
        connection.setsockopt(socket.IPPROTO_TCP, option, 1)
    except OSError:
        pass  # not a TCP socket
    finally:
        connection.detach()  # not ours to close
