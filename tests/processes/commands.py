"""Commands of child processes, and the environment in which they run."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The checkout. Child processes run here unless they get another folder, so that `-m raft.cli` finds its code."""

KRAFT = (sys.executable, "-m", "raft.cli")
"""The command `kraft` of this checkout."""

TIED_TO_PARENT = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
"""Put before a command, it makes the kernel kill the process when the thread that started it ends, also when pytest is
killed. Only Linux has this.
"""

_JVM_OPTIONS = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS")
"""A JVM prints these variables to standard error, where tests expect only the messages of a program."""


def child_environment(**changes: str) -> dict[str, str]:
    """Return the variables of this process with some changed, and without options for JVMs."""
    return {name: value for name, value in os.environ.items() if name not in _JVM_OPTIONS} | changes
