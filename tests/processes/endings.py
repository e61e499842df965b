"""Waiting for processes that are not children of this one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import psutil

from tests.hang import HANG_S
from tests.node.harness.waiting import eventually


def has_ended(process: psutil.Process) -> bool:
    """Whether it has ended; a zombie, whose new parent has not waited for it yet, has ended."""
    try:
        return bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def wait_for_ends(processes: Iterable[psutil.Process]) -> None:
    """Wait until all have ended.

    Raises:
        AssertionError: one still runs.
    """
    waited_for = tuple(processes)
    eventually(lambda: all(map(has_ended, waited_for)), f"the end of {waited_for}", within_s=HANG_S)


def left_behind(folder: Path) -> list[str]:
    """Return the commands of running processes that name a folder, which belongs to one test alone."""
    commands = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [" ".join(command) for command in commands if any(str(folder) in part for part in command)]
