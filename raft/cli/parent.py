"""Ends a supervised node when the process that started it ends, in whatever way."""

from __future__ import annotations

import os
import threading

_LOOK_S = 0.5


def exit_with_parent() -> None:
    """From now on, exit at once when standard input ends or the parent process changes.

    The parent has the other end of standard input, and the kernel closes it even if the parent is killed. If another
    process has a copy of that end, the change of the parent process tells. A leader does not transfer its leadership
    then; the rest of the quorum elects a new leader.
    """
    parent = os.getppid()
    threading.Thread(target=_watch_input, name="parent's pipe", daemon=True).start()
    threading.Thread(target=_watch_parent, args=(parent,), name="parent's pid", daemon=True).start()


def _watch_input() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


def _watch_parent(parent: int) -> None:
    forever = threading.Event()
    while os.getppid() == parent:
        forever.wait(_LOOK_S)
    os._exit(0)
