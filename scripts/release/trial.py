"""Tests a wheel in an empty environment: the command, the compiled library, and a quorum of one node."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_PATIENCE_S = 60
_RECORD = "one record"
_LOADS_LIBRARY = """
from raft.native.library import LIBRARY
print("loaded", LIBRARY.name)
"""


class TrialError(Exception):
    """The installed wheel does not work."""


def try_wheel(wheel: Path, *, version: str) -> None:
    """Install a wheel for this machine into an empty virtual environment and use it.

    Args:
        wheel: its file. Its dependencies are installed from the package index.
        version: what `kraft --version` must print.

    Raises:
        TrialError: a program printed something unexpected.
        subprocess.SubprocessError: a program failed or took too long.
    """
    with tempfile.TemporaryDirectory(prefix="kraft-release-") as folder:
        place = Path(folder)
        venv.create(place / "venv", with_pip=True)
        programs = place / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
        _run(programs / "python", "-m", "pip", "install", "--quiet", str(wheel.resolve()), folder=place)
        printed = _run(programs / "kraft", "--version", folder=place)
        if printed != f"{version}\n":
            raise TrialError(f"kraft --version printed {printed!r}; expected {version}")
        print(_run(programs / "python", "-c", _LOADS_LIBRARY, folder=place), end="")
        with _quorum(programs / "kraft", place) as access:
            _run(programs / "kraft", "append", *access, _RECORD, folder=place)
            everything = ("--from", "earliest", "--to", "latest")
            read = _run(programs / "kraft", "read", *access, *everything, folder=place)
        if read != f"{_RECORD}\n":
            raise TrialError(f"kraft read printed {read!r}; expected the record {_RECORD!r}")
        print("appended and read one record")


@contextmanager
def _quorum(kraft: Path, folder: Path) -> Iterator[tuple[str, ...]]:
    """Run a quorum of one node; yield the options with which commands connect to it."""
    command = [str(kraft), "dev", "--voters", "1", "--data-dir", str(folder / "data")]
    with subprocess.Popen(command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "Popen made a pipe"
        try:
            servers, config = process.stdout.readline().strip(), process.stdout.readline().strip()
            if not config:
                raise TrialError("kraft dev ended before it printed its bootstrap servers and the file for clients")
            yield "--bootstrap-server", servers, "--command-config", config
        finally:
            process.terminate()
            process.wait(_PATIENCE_S)


def _run(program: Path, *arguments: str, folder: Path) -> str:
    """Run a program to its end; return what it printed."""
    command = [str(program), *arguments]
    environment = _environment()
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, timeout=_PATIENCE_S, check=True
    )
    return done.stdout


def _environment() -> dict[str, str]:
    """Return the environment of this process without variables that make Python import from the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
