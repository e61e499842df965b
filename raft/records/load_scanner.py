"""Which scanner this process uses: chosen once, at first use."""

from __future__ import annotations

import functools
import logging
import os
from pathlib import Path

from raft.errors import ConfigError
from raft.records.compiled_scanner import LIBRARY, CompiledScanner
from raft.records.python_scanner import PythonScanner
from raft.records.scanner import Scanner

VARIABLE = "KRAFT_RECORDS_SCANNER"
"""Environment variable: `compiled` refuses to run without the library, `python` does not use it."""

_logger = logging.getLogger(__name__)


@functools.cache
def load_scanner() -> Scanner:
    """Return the scanner of this process, as `choose_scanner` chose it."""
    return choose_scanner(os.environ.get(VARIABLE, ""), library=LIBRARY)


def choose_scanner(choice: str, *, library: Path) -> Scanner:
    """Return the compiled scanner, or the one in Python, with a warning, where the library cannot be loaded.

    Args:
        choice: value of the variable; "" leaves the choice to this function.
        library: where the compiled scanner is.

    Raises:
        ConfigError: the compiled scanner is asked for and cannot be loaded, or the value names no scanner.
    """
    if choice not in ("", CompiledScanner.name, PythonScanner.name):
        raise ConfigError(f"{VARIABLE}={choice}: expected {CompiledScanner.name} or {PythonScanner.name}")
    reason = f"{VARIABLE}={choice}"
    if choice != PythonScanner.name:
        try:
            return CompiledScanner(library)
        except (OSError, ValueError) as error:
            if choice == CompiledScanner.name:
                raise ConfigError(f"{VARIABLE}={choice}: {error}") from error
            reason = str(error)
    _logger.warning("records are checked in Python, which makes appends of many records slow: %s", reason)
    return PythonScanner()
