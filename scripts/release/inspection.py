"""Checks what was built: versions, tags, and that it has all files and no others."""

from __future__ import annotations

import struct
import tarfile
from collections.abc import Iterable, Iterator
from email.parser import HeaderParser
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from build_native import FOLDER, HEADERS, SOURCES, TARGETS

PACKAGES = ("raft", "datasource", "kraft_spark", "pyspark_kraft")
ENTRY_POINT = "kraft = raft.cli.main:main"

_ELF_MACHINES = {62: "x86_64", 183: "aarch64"}
_MACH_O_MAGIC = 0xFEEDFACF
_MACH_O_MACHINES = {0x01000007: "x86_64", 0x0100000C: "arm64"}


def package_files(root: Path) -> set[str]:
    """Return the files of the packages that every wheel must have: Python, and the markers of typed packages."""
    return {
        path.relative_to(root).as_posix()
        for package in PACKAGES
        for path in (root / package).rglob("*")
        if path.suffix == ".py" or path.name == "py.typed"
    }


def wheel_problems(wheel: Path, *, version: str, platform: str, modules: set[str]) -> Iterator[str]:
    """Yield the problems of a wheel.

    Args:
        wheel: its file.
        version: of the release.
        platform: the platform in its tag.
        modules: as `package_files` returns them.
    """
    tag = f"py3-none-{platform}"
    if wheel.name != f"kraft_spark-{version}-{tag}.whl":
        yield f"its name is not kraft_spark-{version}-{tag}.whl"
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = f"kraft_spark-{version}.dist-info"
        needed = {f"{metadata}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
        library = TARGETS[platform].library.as_posix()
        missing = (needed | {library} | modules) - names
        yield from (f"{name} is missing" for name in sorted(missing))
        yield from (f"{name} is not expected" for name in sorted(_unexpected(names, {library} | modules)))
        if missing:
            return
        facts = HeaderParser().parsestr(archive.read(f"{metadata}/WHEEL").decode())
        if facts["Tag"] != tag or facts["Root-Is-Purelib"] != "false":
            yield f"WHEEL says {facts['Tag']}, Root-Is-Purelib: {facts['Root-Is-Purelib']}; expected {tag}, false"
        stated = HeaderParser().parsestr(archive.read(f"{metadata}/METADATA").decode())["Version"]
        if stated != version:
            yield f"METADATA says version {stated}; expected {version}"
        if ENTRY_POINT not in archive.read(f"{metadata}/entry_points.txt").decode():
            yield f"the command is missing: {ENTRY_POINT}"
        machine = machine_of(archive.read(library))
        if machine is None or not platform.endswith(machine):
            yield f"{library} is built for {machine or 'an unknown machine'}"


def source_problems(archive: Path, *, version: str, modules: set[str]) -> Iterator[str]:
    """Yield the problems of the source distribution; the arguments are those of `wheel_problems`."""
    base = f"kraft_spark-{version}"
    if archive.name != f"{base}.tar.gz":
        yield f"its name is not {base}.tar.gz"
    with tarfile.open(archive) as files:
        names = {PurePosixPath(name).relative_to(base).as_posix() for name in files.getnames() if "/" in name}
    beside = {"pyproject.toml", "build_native.py", "README.md", "LICENSE", "PKG-INFO"}
    needed = modules | beside | {(FOLDER / name).as_posix() for name in (*SOURCES, *HEADERS)}
    yield from (f"{name} is missing" for name in sorted(needed - names))
    binaries = {name for name in names if name.endswith((".so", ".dylib", ".dll", ".pyc"))}
    yield from (f"{name} is not expected" for name in sorted(binaries))


def machine_of(library: bytes) -> str | None:
    """Return the machine that an ELF or Mach-O library is built for, as a wheel's tag names it; None if unknown."""
    if library.startswith(b"\x7fELF"):
        (machine,) = struct.unpack_from("<H", library, 18)
        return _ELF_MACHINES.get(machine)
    magic, machine = struct.unpack_from("<II", library)
    return _MACH_O_MACHINES.get(machine) if magic == _MACH_O_MAGIC else None


def _unexpected(names: Iterable[str], expected: set[str]) -> Iterator[str]:
    """Yield files that are neither expected, nor C sources, nor metadata of the wheel."""
    for name in names:
        is_own = PurePosixPath(name).parts[0].endswith(".dist-info")
        if name not in expected and not is_own and not name.endswith((".c", ".h")):
            yield name
