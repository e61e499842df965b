"""The checks of `kraft doctor`: what a Spark application on this machine needs.

They read the environment as Spark does, and run other programs to see what they find. Nothing of Spark is imported, so
that the checks work where it is missing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata

from raft.client import Client
from raft.errors import RaftError
from raft.local import LOOPBACK
from raft.local.ports import free_ports
from raft.version import __version__

LEAST_JAVA = 17
_WAIT_S = 60.0

_PROBE = """
import json, sys
found = {"python": "%d.%d" % sys.version_info[:2], "executable": sys.executable}
try:
    import kraft_spark
    found["version"] = kraft_spark.__version__
except Exception as error:
    found["error"] = "%s: %s" % (type(error).__name__, error)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """A package that an application needs, or may need.

    Fields:
        name: of the package.
        least: the lowest version.
        below: the lowest version that is too new; empty for none.
        extra: the extra of kraft-spark that has it.
        is_optional: whether an application works without it.
    """

    name: str
    least: str
    below: str = ""
    extra: str = "spark"
    is_optional: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.least} or newer" + (f", below {self.below}" if self.below else "")


REQUIREMENTS = (
    Requirement(name="pyspark", least="4.3", below="5"),
    Requirement(name="pyarrow", least="18"),
    Requirement(name="numpy", least="1.26"),
    Requirement(name="msgpack", least="1.0"),
    Requirement(name="py4j", least="0.10.9.9"),
    Requirement(name="pandas", least="2.2", below="3", extra="pandas", is_optional=True),
)
"""As in pyproject.toml."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of a check.

    Fields:
        what: was checked.
        found: in words.
        remedy: what to do; None if nothing is wrong.
    """

    what: str
    found: str
    remedy: str | None = None

    @property
    def is_problem(self) -> bool:
        """Whether something must be done."""
        return self.remedy is not None


def findings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check this machine.

    Args:
        environment: that of the application.
    """
    yield Finding(what="kraft-spark", found=f"{__version__} in Python {_python_version()} ({sys.executable})")
    yield from (package(requirement) for requirement in REQUIREMENTS)
    yield from workers(environment)
    yield java(environment)
    yield port()


def package(requirement: Requirement) -> Finding:
    """Check whether this Python has a package in a version that is supported."""
    try:
        version = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        command = f"pip install 'kraft-spark[{requirement.extra}]'"
        if requirement.is_optional:
            found = f"not installed; toPandas and the pandas API need it: {command}"
            return Finding(what=requirement.name, found=found)
        return Finding(what=requirement.name, found="not installed", remedy=command)
    is_old = _numbers(version) < _numbers(requirement.least)
    is_new = bool(requirement.below) and _numbers(version) >= _numbers(requirement.below)
    if not is_old and not is_new:
        return Finding(what=requirement.name, found=version)
    remedy = f"expected {requirement}: pip install 'kraft-spark[{requirement.extra}]'"
    return Finding(what=requirement.name, found=version, remedy=remedy)


def workers(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Check the Pythons that Spark starts: the one that plans reads and writes, and the one of functions.

    Source: Spark's PythonUtils.defaultPythonExec; PySpark's SparkContext.pythonExec.
    """
    ours = environment.get("PYSPARK_PYTHON")
    planning = environment.get("PYSPARK_DRIVER_PYTHON") or ours
    yield _worker("PYSPARK_DRIVER_PYTHON" if planning != ours else "PYSPARK_PYTHON", planning, environment)
    if planning != ours:
        yield _worker("PYSPARK_PYTHON", ours, environment)


def _worker(variable: str, command: str | None, environment: Mapping[str, str]) -> Finding:
    what = "workers"
    named = f"{variable}={command}" if command else "python3 of the PATH (PYSPARK_PYTHON is not set)"
    remedy = f"set {variable}={sys.executable} before Spark starts, or import kraft_spark before the first session"
    if command:
        remedy = f"set {variable}={sys.executable} before Spark starts, or install kraft-spark=={__version__} there"
    path = shutil.which(command or "python3", path=environment.get("PATH"))
    if path is None:
        return Finding(what=what, found=f"{named} is not found", remedy=remedy)
    named = f"{named}: {path}" if path != command else named
    try:
        done = subprocess.run(  # noqa: S603 - what Spark runs too
            [path, "-c", _PROBE], capture_output=True, text=True, timeout=_WAIT_S, check=True, env=dict(environment)
        )
        probed = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return Finding(what=what, found=f"{named} does not run as a Python", remedy=remedy)
    if "error" in probed:
        return Finding(what=what, found=f"{named} cannot import kraft_spark ({probed['error']})", remedy=remedy)
    if probed["version"] != __version__:
        found = f"{named} has kraft-spark {probed['version']}, and this Python has {__version__}"
        return Finding(what=what, found=found, remedy=remedy)
    if probed["python"] != _python_version():
        found = f"{named} is Python {probed['python']}, and this is {_python_version()}"
        return Finding(what=what, found=found, remedy=remedy)
    return Finding(what=what, found=f"{named} has kraft-spark {__version__}")


def java(environment: Mapping[str, str]) -> Finding:
    """Check the Java that Spark starts."""
    home = environment.get("JAVA_HOME")
    command = os.path.join(home, "bin", "java") if home else "java"  # noqa: PTH118 - a command, not a path
    named = f"JAVA_HOME={home}" if home else "java of the PATH"
    remedy = f"install Java {LEAST_JAVA} or newer, and set JAVA_HOME to its directory, or unset it for that of the PATH"
    path = shutil.which(command, path=environment.get("PATH"))
    if path is None:
        return Finding(what="java", found=f"{named} is not found", remedy=remedy)
    try:
        asked = subprocess.run(  # noqa: S603 - what Spark runs too
            [path, "-version"], capture_output=True, text=True, timeout=_WAIT_S, check=True, env=dict(environment)
        )
    except (OSError, subprocess.SubprocessError):
        return Finding(what="java", found=f"{named} does not run: {path}", remedy=remedy)
    version = re.search(r'version "(\d+)([^"]*)"', asked.stderr + asked.stdout)
    if version is None:
        return Finding(what="java", found=f"{named} does not say its version: {path}", remedy=remedy)
    found = f"{version[1]}{version[2]} ({path})"
    return Finding(what="java", found=found, remedy=remedy if int(version[1]) < LEAST_JAVA else None)


def port() -> Finding:
    """Check whether a node can listen on loopback."""
    try:
        (found,) = free_ports(1)
    except RaftError as error:
        remedy = f"let this user listen on {LOOPBACK.bind}, which a container or a security policy may forbid"
        return Finding(what="port", found=str(error), remedy=remedy)
    return Finding(what="port", found=f"{LOOPBACK.bind}:{found} can be listened on")


def quorum(client: Client) -> Finding:
    """Check whether the leader of a quorum responds."""
    try:
        described = client.describe_quorum()
    except RaftError as error:
        remedy = "check that the nodes run, their addresses, and the file of --command-config (docs/troubleshooting.md)"
        return Finding(what="quorum", found=str(error), remedy=remedy)
    found = f"{described.cluster_id}, leader {described.leader_id} of epoch {described.leader_epoch}"
    return Finding(what="quorum", found=found)


def _python_version() -> str:
    return "{}.{}".format(*sys.version_info)


def _numbers(version: str) -> tuple[int, ...]:
    """Return the numbers at the start of a version, without zeros at the end: 4.3.0rc1 gives 4, 3."""
    numbers = [int(number) for number in re.findall(r"\d+", re.split(r"[^0-9.]", version, maxsplit=1)[0])]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
