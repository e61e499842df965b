"""The library in C: a process without a whole one, or with one of another version, is told what to do."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from raft.errors import NativeLibraryError, RaftError
from raft.native import library
from raft.native.library import LIBRARY, LIBRARY_VERSION, Outcome, load

PACKAGE = Path(__file__).parents[2] / "raft"


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF, but cut short"], ids=["missing", "empty", "broken"])
def test_library_that_cannot_be_loaded_is_refused(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / LIBRARY.name
    if content is not None:
        file.write_bytes(content)

    with pytest.raises(NativeLibraryError, match=f"{re.escape(str(file))}: it cannot be loaded .* Install kraft-spark"):
        load(file)


def test_library_of_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "LIBRARY_VERSION", LIBRARY_VERSION + 1)

    with pytest.raises(NativeLibraryError, match=f"it has version {LIBRARY_VERSION}, expected {LIBRARY_VERSION + 1}"):
        load(LIBRARY)


def test_program_without_the_library_ends_at_its_import(tmp_path: Path) -> None:
    # A package with copies of the modules, beside which there is no library.
    for name in ("__init__.py", "version.py", "errors.py", "native/__init__.py", "native/library.py"):
        copy = tmp_path / "raft" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text((PACKAGE / name).read_text())
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import raft.native.library"

    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)

    last_line = ended.stderr.splitlines()[-1]
    assert ended.returncode == 1
    assert last_line.startswith(f"raft.errors.NativeLibraryError: the library in C of kraft-spark, {tmp_path}")
    assert "Install kraft-spark again on this machine" in last_line


def test_error_is_one_of_raft_and_of_an_import() -> None:
    assert issubclass(NativeLibraryError, RaftError)
    assert issubclass(NativeLibraryError, ImportError)


def test_versions_and_outcomes_are_those_of_the_sources() -> None:
    source = LIBRARY.with_name("version.c").read_text()
    record = LIBRARY.with_name("record.h").read_text()
    outcomes = record[record.index("enum outcome {") : record.index("};")]

    assert re.findall(r"#define LIBRARY_VERSION (\d+)", source) == [str(LIBRARY_VERSION)]
    assert dict(re.findall(r"(\w+) = (-?\d+)", outcomes)) == {each.name: str(each.value) for each in Outcome}
