"""Loads a library that `build_kernel.py` compiled from C, or the code in Python that gives the same results.

An environment variable chooses: `compiled` makes a missing library an error, `python` does not load it. By default the
library is loaded; if that fails, the code in Python is used, with a warning.
"""

from __future__ import annotations

import ctypes
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from raft.errors import ConfigError

COMPILED = "compiled"
PYTHON = "python"

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")

Code = TypeVar("Code")

_logger = logging.getLogger(__name__)


def library_beside(module_file: str, name: str) -> Path:
    """Return the path of a library that lies beside the module that calls it.

    Args:
        module_file: `__file__` of the module.
        name: of the C source, without its suffix.
    """
    return Path(module_file).with_name(f"lib{name}{_SUFFIX}")


def check_version(library: ctypes.CDLL, symbol: str, expected: int) -> None:
    """Compare the version of a library's structures with the version of those in Python.

    Args:
        library: the library.
        symbol: name of the int64 in it that holds its version.
        expected: the version in Python.

    Raises:
        ValueError: they differ, or the library has no version.
    """
    version = ctypes.c_int64.in_dll(library, symbol).value
    if version != expected:
        raise ValueError(f"{library._name} has version {version}, expected {expected}: compile it again")


def choose_code(
    variable: str, choice: str, *, compiled: Callable[[], Code], python: Callable[[], Code], consequence: str
) -> Code:
    """Return the compiled code, or the code in Python where the choice or the machine requires it.

    Args:
        variable: name of the environment variable.
        choice: its value; "" where it is not set.
        compiled: loads the library; raises OSError or ValueError where that is impossible.
        python: makes the code in Python.
        consequence: what the code in Python means for the user, for the warning.

    Raises:
        ConfigError: the value is not a choice; or it demands the library, which cannot be loaded.
    """
    if choice not in ("", COMPILED, PYTHON):
        raise ConfigError(f"{variable}={choice}: expected {COMPILED} or {PYTHON}")
    reason = f"{variable}={choice}"
    if choice != PYTHON:
        try:
            return compiled()
        except (OSError, ValueError) as error:
            if choice == COMPILED:
                raise ConfigError(f"{variable}={choice}: {error}") from error
            reason = str(error)
    # A worker of Spark has no log of its own; Python prints a warning to standard error where no handler is set up.
    _logger.warning("%s: %s", consequence, reason)
    return python()
