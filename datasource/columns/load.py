"""Which kernel this process uses: chosen once, at first use."""

from __future__ import annotations

import functools
import logging
import os
from pathlib import Path

from datasource.columns.compiled import LIBRARY, CompiledKernel
from datasource.columns.fallback import NumpyKernel
from datasource.columns.kernel import Kernel
from raft.errors import ConfigError

VARIABLE = "KRAFT_COLUMNS_KERNEL"
"""Environment variable: `compiled` does not go without the library, `numpy` goes without it."""

logger = logging.getLogger(__name__)


@functools.cache
def load_kernel() -> Kernel:
    """Return the kernel of this process, as `choose_kernel` chose it."""
    return choose_kernel(os.environ.get(VARIABLE, ""), library=LIBRARY)


def choose_kernel(choice: str, *, library: Path) -> Kernel:
    """Return the compiled kernel, or the fallback, with a warning, where that one cannot be had.

    Args:
        choice: value of the variable; "" leaves the choice to us.
        library: where the compiled kernel is.

    Raises:
        ConfigError: the compiled kernel is asked for and cannot be had, or a kernel is asked for that nobody knows.
    """
    if choice not in ("", CompiledKernel.name, NumpyKernel.name):
        raise ConfigError(f"{VARIABLE}={choice}: {CompiledKernel.name} or {NumpyKernel.name} is allowed")
    reason = f"{VARIABLE}={choice}"
    if choice != NumpyKernel.name:
        try:
            return CompiledKernel(library)
        except (OSError, ValueError) as error:
            if choice == CompiledKernel.name:
                raise ConfigError(f"{VARIABLE}={choice}: {error}") from error
            reason = str(error)
    # A worker of Spark has no log of its own; Python prints warnings of loggers nobody set up to standard error.
    logger.warning("Records are encoded and decoded by numpy, several times slower than they could be: %s", reason)
    return NumpyKernel()
