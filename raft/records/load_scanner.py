"""Which scanner this process uses: chosen once, at first use."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from raft.records.compiled_scanner import LIBRARY, CompiledScanner
from raft.records.native_library import choose_code
from raft.records.python_scanner import PythonScanner
from raft.records.scanner import Scanner

VARIABLE = "KRAFT_RECORDS_SCANNER"
"""Environment variable with the choice; see `raft.records.native_library`."""


@functools.cache
def load_scanner() -> Scanner:
    """Return the scanner of this process.

    Raises:
        ConfigError: see `choose_code`.
    """
    return choose_scanner(os.environ.get(VARIABLE, ""), library=LIBRARY)


def choose_scanner(choice: str, *, library: Path) -> Scanner:
    """Return the compiled scanner, or the one in Python.

    Args:
        choice: value of the variable; "" where it is not set.
        library: where the compiled scanner is.

    Raises:
        ConfigError: see `choose_code`.
    """

    def compiled() -> Scanner:
        return CompiledScanner(library)

    return choose_code(
        VARIABLE,
        choice,
        compiled=compiled,
        python=PythonScanner,
        consequence="records are checked in Python, which makes appends of many records slow",
    )
