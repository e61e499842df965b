"""Tries a wheel where nothing else is installed: the command, the compiled library, and a quorum of one node."""

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
# Only the records' library is used without Spark's extra; that of the columns is loaded, and not called.
_LOADS_LIBRARIES = """
import ctypes, importlib.metadata
from raft.records.load_scanner import load_scanner

assert load_scanner().name == "compiled"
for file in importlib.metadata.files("kraft-spark"):
    if file.name.startswith("lib"):
        ctypes.CDLL(str(file.locate()))
        print("loaded", file.name)
"""


class TrialError(Exception):
    """The installed wheel does not do what it should."""


def try_wheel(wheel: Path, *, version: str) -> None:
    """Install a wheel for this machine into an empty virtual environment and use it.

    Args:
        wheel: its file. What it depends on is installed from the package index.
        version: what `kraft --version` has to print.

    Raises:
        TrialError: something else came out than should.
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
        print(_run(programs / "python", "-c", _LOADS_LIBRARIES, folder=place), end="")
        with _quorum(programs / "kraft", place) as servers:
            _run(programs / "kraft", "append", "--bootstrap-server", servers, _RECORD, folder=place)
            everything = ("--from", "earliest", "--to", "latest")
            read = _run(programs / "kraft", "read", "--bootstrap-server", servers, *everything, folder=place)
        if read != f"{_RECORD}\n":
            raise TrialError(f"kraft read printed {read!r}; expected the record {_RECORD!r}")
        print("appended and read one record")


@contextmanager
def _quorum(kraft: Path, folder: Path) -> Iterator[str]:
    """Run a quorum of one node; yield its bootstrap servers."""
    command = [str(kraft), "dev", "--voters", "1", "--data-dir", str(folder / "data")]
    with subprocess.Popen(command, cwd=folder, env=_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None, "a pipe was asked for"
        try:
            servers = process.stdout.readline().strip()
            if not servers:
                raise TrialError("kraft dev ended before it printed its bootstrap servers")
            yield servers
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
    """This process's environment without what would lead Python back to the checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return kept | {"KRAFT_RECORDS_SCANNER": "compiled"}
