"""A supervised node must not outlive the process that started it, whichever way that ends."""

from __future__ import annotations

import os
import threading

_LOOK_S = 0.5


def exit_with_parent() -> None:
    """From now on, exit at once when standard input ends or the parent process is another one.

    The parent holds the other end of standard input, and the kernel closes it even if the parent is killed. Should a
    copy of that end live on elsewhere, the change of parent tells. Nothing is handed over: who started this node is
    gone, and the rest of the quorum, if there is one, elects.
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
