"""Checks whether Spark's workers run the Python of this program, which has kraft-spark."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path

_WAIT_S = 10.0
_PRINT_PREFIX_AND_VERSION = "import sys; print(sys.prefix); print(*sys.version_info[:2], sep='.')"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPython:
    """A Python that Spark starts.

    Fields:
        command: its path, or its name on the PATH.
        variable: the environment variable that can name another one.
        path: the PATH on which Spark looks for it; None if there is none.
        runs_here: whether it runs on this machine; executors may run on others.
    """

    command: str
    variable: str
    path: str | None
    runs_here: bool = True

    def difference(self) -> str | None:
        """Return what it is if it has other packages than this program; None if it has the same.

        Paths do not tell, because an environment has several names for its Python, and the Pythons of many environments
        are links to the same file. So the Python is run, unless its path is that of this program.
        """
        found = shutil.which(self.command, path=self.path)
        if found is None:
            return "which is not found" if self.runs_here else None
        if found == sys.executable:
            return None
        try:
            asked = subprocess.run(  # noqa: S603 - what Spark runs too
                [found, "-c", _PRINT_PREFIX_AND_VERSION], capture_output=True, text=True, timeout=_WAIT_S, check=True
            )
            prefix, version = asked.stdout.splitlines()
        except (OSError, ValueError, subprocess.SubprocessError):
            return "which does not run as a Python"
        ours = (Path(sys.prefix).resolve(), "{}.{}".format(*sys.version_info))
        return None if (Path(prefix).resolve(), version) == ours else f"the Python {version} of {prefix}"


def choose_this_python(environment: MutableMapping[str, str], *, has_started: bool) -> bool:
    """Make Spark's workers run the Python of this program, unless another one is configured.

    Spark takes `python3` of the PATH. In a virtual environment that is not activated this is another Python, and
    Spark's error is only that it does not find the data source.

    Args:
        environment: of this process; the JVM inherits it at its start.
        has_started: whether the JVM was started, so that its environment cannot change any more.

    Returns:
        Whether it was done.
    """
    is_configured = any(variable in environment for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"))
    # spark-submit starts the JVM first and passes its port to this process. A worker of Spark runs a chosen Python.
    is_child_of_spark = any(name.startswith(("PYSPARK_GATEWAY_", "PYTHON_WORKER_FACTORY_")) for name in environment)
    if not sys.executable or has_started or is_configured or is_child_of_spark:
        return False
    environment["PYSPARK_PYTHON"] = sys.executable
    return True


def warn_of_another_python(pythons: Iterable[WorkerPython], *, stack_level: int) -> None:
    """Warn if Spark's workers have other packages than this program; once, about the first such Python.

    Args:
        pythons: the Pythons that Spark runs.
        stack_level: of the call that the warning names; 1 is the caller.
    """
    for python in pythons:
        difference = python.difference()
        if difference is not None:
            warnings.warn(
                f"Spark's Python workers run {python.command}, {difference}; this program runs {sys.executable}. "
                "If the workers have no kraft-spark, or another version, Spark does not find the data source kraft, or "
                f"fails later. Set the environment variable {python.variable}={sys.executable} before the first "
                "session of the program is created; the command `kraft doctor` checks it.",
                stacklevel=stack_level + 1,
            )
            return
