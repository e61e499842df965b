"""Which kernel this process uses: chosen once, at first use."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from datasource.columns.compiled import LIBRARY, CompiledKernel
from datasource.columns.fallback import PythonKernel
from datasource.columns.kernel import Kernel
from raft.records.native_library import choose_code

VARIABLE = "KRAFT_COLUMNS_KERNEL"
"""Environment variable with the choice; see `raft.records.native_library`."""


@functools.cache
def load_kernel() -> Kernel:
    """Return the kernel of this process.

    Raises:
        ConfigError: see `choose_code`.
    """
    return choose_kernel(os.environ.get(VARIABLE, ""), library=LIBRARY)


def choose_kernel(choice: str, *, library: Path) -> Kernel:
    """Return the compiled kernel, or the one in Python.

    Args:
        choice: value of the variable; "" where it is not set.
        library: where the compiled kernel is.

    Raises:
        ConfigError: see `choose_code`.
    """

    def compiled() -> Kernel:
        return CompiledKernel(library)

    return choose_code(
        VARIABLE,
        choice,
        compiled=compiled,
        python=PythonKernel,
        consequence="rows are read and written in Python, which makes large batches slow",
    )
