"""The ends of processes that are not children of the test."""

from __future__ import annotations

from collections.abc import Iterable

import psutil

from tests.node.harness.waiting import eventually


def has_ended(process: psutil.Process) -> bool:
    """Whether it runs no more; who inherits an orphan may let its name stay for a while."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for_ends(processes: Iterable[psutil.Process], *, within_s: float) -> None:
    """Return when all have ended; fail when one has not within the time."""
    waited_for = tuple(processes)
    eventually(lambda: all(map(has_ended, waited_for)), f"{waited_for} have ended", within_s=within_s)
