"""The Python that Spark's workers run: whether it is the one of this program, which has kraft-spark."""

from __future__ import annotations

import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path

_WAIT_S = 10.0
_SAY_WHO_YOU_ARE = "import sys; print(sys.prefix); print(*sys.version_info[:2], sep='.')"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPython:
    """A Python as Spark starts it.

    Fields:
        command: its path, or its name on the PATH.
        variable: the environment variable that can name another.
        path: the PATH on which Spark looks for it; None where there is none.
        runs_here: whether it is on this machine in any case; executors have machines of their own.
    """

    command: str
    variable: str
    path: str | None
    runs_here: bool = True

    def difference(self) -> str | None:
        """What it is, if its packages are others than this program's; None if they are the same.

        Paths do not tell: one environment has its Python by several names, and the Pythons of many environments are
        links to the same file. So it is asked, unless it is started as this one was.
        """
        found = shutil.which(self.command, path=self.path)
        if found is None:
            return "which is not found" if self.runs_here else None
        if found == sys.executable:
            return None
        try:
            asked = subprocess.run(  # noqa: S603 - what Spark runs too
                [found, "-c", _SAY_WHO_YOU_ARE], capture_output=True, text=True, timeout=_WAIT_S, check=True
            )
            prefix, version = asked.stdout.splitlines()
        except (OSError, ValueError, subprocess.SubprocessError):
            return "which does not run as a Python"
        ours = (Path(sys.prefix).resolve(), "{}.{}".format(*sys.version_info))
        return None if (Path(prefix).resolve(), version) == ours else f"the Python {version} of {prefix}"


def choose_this_python(environment: MutableMapping[str, str], *, has_started: bool) -> None:
    """Make Spark's workers run the Python of this program, unless something else says which they run.

    Spark would take `python3` of the PATH. In a virtual environment that was not activated that is another Python, and
    Spark then says no more than that it does not find the data source.

    Args:
        environment: of this process; the JVM inherits it when it is started.
        has_started: whether the JVM has been started, so that its environment is settled.
    """
    says_which = any(variable in environment for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"))
    # spark-submit starts the JVM first and tells its child the port. A worker of Spark's runs a chosen Python already.
    is_child_of_spark = any(name.startswith(("PYSPARK_GATEWAY_", "PYTHON_WORKER_FACTORY_")) for name in environment)
    if sys.executable and not (has_started or says_which or is_child_of_spark):
        environment["PYSPARK_PYTHON"] = sys.executable


def warn_of_another_python(pythons: Iterable[WorkerPython], *, stack_level: int) -> None:
    """Warn if Spark's workers do without this program's packages; once, of the first Python that is another.

    Args:
        pythons: what Spark runs.
        stack_level: whose call the warning is about; 1 is the caller.
    """
    for python in pythons:
        difference = python.difference()
        if difference is not None:
            warnings.warn(
                f"Spark's Python workers run {python.command}, {difference}; this program runs {sys.executable}. "
                "Where the workers have no kraft-spark, or another version, Spark says that it does not find the data "
                f"source kraft, or worse. Set the environment variable {python.variable}={sys.executable} before the "
                "first session of the program is made.",
                stacklevel=stack_level + 1,
            )
            return
