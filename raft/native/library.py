"""Loads the library in C, once in each process, when this module is imported.

The library has no Python ABI: ctypes loads it in every version of Python.
"""

from __future__ import annotations

import ctypes
import sys
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from raft.errors import NativeLibraryError

LIBRARY_VERSION = 1
"""Version of the calls and structures; `version.c` has the same. A change of one needs a new version here and there, so
that a library of another version is refused."""

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")

LIBRARY = Path(__file__).with_name(f"libkraft{_SUFFIX}")
"""The file of the library."""


class Outcome(IntEnum):
    """The outcome of a call; the numbers are those of `record.h`."""

    DONE = 0
    RECORD_MALFORMED = -1
    OFFSETS_DISORDERED = -2
    TIMESTAMP_OVERFLOW = -3
    ARROW_MALFORMED = -4
    OUTPUT_FULL = -5
    NO_MEMORY = -6


class Functions(NamedTuple):
    """The functions of the library, in two forms.

    Fields:
        unlocked: release the interpreter's lock during a call.
        locked: keep it. For a short call that is faster, because a thread may wait several milliseconds to get it back.
    """

    unlocked: ctypes.CDLL
    locked: ctypes.PyDLL


def load(library: Path) -> Functions:
    """Load the library.

    Args:
        library: its file.

    Raises:
        NativeLibraryError: it is missing, is not for this machine, or was compiled from other sources than those beside
            this module.
    """
    try:
        functions = Functions(ctypes.CDLL(str(library)), ctypes.PyDLL(str(library)))
        version = ctypes.c_int64.in_dll(functions.locked, "kraft_version").value
    except (OSError, ValueError) as error:
        raise _refused(library, f"it cannot be loaded ({error})") from error
    if version != LIBRARY_VERSION:
        raise _refused(library, f"it has version {version}, expected {LIBRARY_VERSION}")
    return functions


def _refused(library: Path, problem: str) -> NativeLibraryError:
    return NativeLibraryError(
        f"the library in C of kraft-spark, {library}: {problem}. Install kraft-spark again on this machine: the wheels "
        "of a release have the library of their platform, and an installation from source compiles it (in a checkout, "
        "`make setup`)"
    )


FUNCTIONS = load(LIBRARY)
"""The functions of this process."""
