"""Avoids the 40 ms of a delayed acknowledgement in each small task.

The JVM writes the command of a task to its Python worker, and then the rows. Nagle's algorithm delays a small piece
until the one before is acknowledged, and Linux delays an acknowledgement by up to 40 ms if the receiver sends nothing.
When the worker restores the reader or writer it has read the command and waits for the rows next: an acknowledgement at
that moment makes the JVM send the rest at once.

Linux ends its quick mode by itself, so this is called for each task. Other systems do not have the option.

Source: tcp(7), TCP_QUICKACK.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

_OPEN_FILES = Path("/proc/self/fd")


class UnpickledByTask:
    """Base class of readers and writers. Spark pickles them when it plans, and each task unpickles them."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the pickled state. This process is the worker of a task, which waits for the JVM next."""
        self.__dict__.update(state)
        acknowledge_now()


def acknowledge_now() -> None:
    """Send the pending acknowledgements of all TCP connections of this process; errors are ignored."""
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
        return  # It was closed, as the descriptor of the folder.
    try:
        connection.setsockopt(socket.IPPROTO_TCP, option, 1)
    except OSError:
        pass  # It is not a TCP socket.
    finally:
        connection.detach()  # Its owner closes it.
