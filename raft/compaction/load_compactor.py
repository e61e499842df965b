"""Which compactor this process uses."""

from __future__ import annotations

import os
from pathlib import Path

from raft.compaction.compactor import Compactor
from raft.compaction.compiled_compactor import LIBRARY, CompactorLibrary, CompiledCompactor
from raft.compaction.python_compactor import PythonCompactor
from raft.records.native_library import choose_code

VARIABLE = "KRAFT_COMPACTOR"
"""Environment variable with the choice; see `raft.records.native_library`."""


def load_compactor(*, now_ms: int, delete_retention_ms: int) -> Compactor:
    """Return an empty compactor.

    Args:
        now_ms: wall clock, since 1970.
        delete_retention_ms: how long tombstones are kept after the first snapshot that has them.

    Raises:
        ConfigError: see `choose_code`.
    """
    return choose_compactor(
        os.environ.get(VARIABLE, ""), library=LIBRARY, now_ms=now_ms, delete_retention_ms=delete_retention_ms
    )


def choose_compactor(choice: str, *, library: Path, now_ms: int, delete_retention_ms: int) -> Compactor:
    """Return the compiled compactor, or the one in Python.

    Args:
        choice: value of the variable; "" where it is not set.
        library: where the compiled compactor is.
        now_ms: see `load_compactor`.
        delete_retention_ms: see `load_compactor`.

    Raises:
        ConfigError: see `choose_code`.
    """

    def compiled() -> Compactor:
        return CompiledCompactor(CompactorLibrary(library), now_ms=now_ms, delete_retention_ms=delete_retention_ms)

    def python() -> Compactor:
        return PythonCompactor(now_ms=now_ms, delete_retention_ms=delete_retention_ms)

    return choose_code(
        VARIABLE,
        choice,
        compiled=compiled,
        python=python,
        consequence="snapshots are made in Python, which takes long",
    )
