"""A release is refused when a file in it is wrong, missing or too many."""

from __future__ import annotations

import io
import struct
import tarfile
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from scripts.release.inspection import ENTRY_POINT, machine_of, package_files, source_problems, wheel_problems

ROOT = Path(__file__).parents[2]
MODULES = {"raft/__init__.py", "datasource/py.typed"}
LINUX, MAC = "manylinux_2_17_aarch64", "macosx_11_0_arm64"
INFO = "kraft_spark-1.2.3.dist-info"


def elf(machine: int) -> bytes:
    return b"\x7fELF".ljust(18, b"\0") + struct.pack("<H", machine)


def mach_o(machine: int) -> bytes:
    return struct.pack("<II", 0xFEEDFACF, machine)


def wheel_contents(platform: str) -> dict[str, bytes]:
    """The files of a wheel that is in order."""
    suffix, library = (".so", elf(183)) if platform == LINUX else (".dylib", mach_o(0x0100000C))
    return {
        **dict.fromkeys(MODULES, b""),
        "raft/native/scanner.c": b"",
        f"raft/native/libkraft{suffix}": library,
        f"{INFO}/METADATA": b"Metadata-Version: 2.4\nVersion: 1.2.3\n",
        f"{INFO}/WHEEL": f"Root-Is-Purelib: false\nTag: py3-none-{platform}\n".encode(),
        f"{INFO}/RECORD": b"",
        f"{INFO}/entry_points.txt": f"[console_scripts]\n{ENTRY_POINT}\n".encode(),
    }


def problems_of_wheel(folder: Path, contents: Mapping[str, bytes], platform: str) -> list[str]:
    wheel = folder / f"kraft_spark-1.2.3-py3-none-{platform}.whl"
    with ZipFile(wheel, "w") as archive:
        for name, content in contents.items():
            archive.writestr(name, content)
    return list(wheel_problems(wheel, version="1.2.3", platform=platform, modules=MODULES))


@pytest.mark.parametrize("platform", [LINUX, MAC])
def test_wheel_is_in_order_when_it_holds_what_it_should(tmp_path: Path, platform: str) -> None:
    assert problems_of_wheel(tmp_path, wheel_contents(platform), platform) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        pytest.param({"raft/__init__.py": None}, "raft/__init__.py is missing", id="module"),
        pytest.param({"datasource/py.typed": None}, "datasource/py.typed is missing", id="mark of a typed package"),
        pytest.param({"raft/native/libkraft.so": None}, "raft/native/libkraft.so is missing", id="compiled library"),
        pytest.param(
            {"raft/native/libkraft.dylib": b""},
            "raft/native/libkraft.dylib is not expected",
            id="library of another platform",
        ),
        pytest.param({"tests/test_node.py": b""}, "tests/test_node.py is not expected", id="file of the repository"),
        pytest.param(
            {"raft/native/libkraft.so": elf(62)},
            "raft/native/libkraft.so is built for x86_64",
            id="library of another machine",
        ),
        pytest.param(
            {"raft/native/libkraft.so": b"text that is no library"},
            "raft/native/libkraft.so is built for an unknown machine",
            id="no library",
        ),
        pytest.param(
            {f"{INFO}/METADATA": b"Version: 1.2.2\n"}, "METADATA says version 1.2.2; expected 1.2.3", id="version"
        ),
        pytest.param(
            {f"{INFO}/WHEEL": b"Root-Is-Purelib: true\nTag: py3-none-any\n"},
            f"WHEEL says py3-none-any, Root-Is-Purelib: true; expected py3-none-{LINUX}, false",
            id="tag",
        ),
        pytest.param({f"{INFO}/entry_points.txt": b""}, f"the command is missing: {ENTRY_POINT}", id="command"),
    ],
)
def test_wheel_is_refused_when_a_file_is_wrong(
    tmp_path: Path, changes: Mapping[str, bytes | None], problem: str
) -> None:
    contents: dict[str, bytes | None] = {**wheel_contents(LINUX), **changes}
    present = {name: content for name, content in contents.items() if content is not None}

    assert problems_of_wheel(tmp_path, present, LINUX) == [problem]


SOURCES = {
    "pyproject.toml",
    "build_native.py",
    "README.md",
    "LICENSE",
    "PKG-INFO",
    "raft/native/record.h",
    "raft/native/scanner.c",
    "raft/native/compactor.c",
    "raft/native/columns.c",
    "raft/native/version.c",
} | MODULES


@pytest.mark.parametrize(
    ("names", "problems"),
    [
        pytest.param(SOURCES, [], id="in order"),
        pytest.param(SOURCES - {"build_native.py"}, ["build_native.py is missing"], id="build hook"),
        pytest.param(SOURCES - {"raft/__init__.py"}, ["raft/__init__.py is missing"], id="module"),
        pytest.param(
            SOURCES | {"raft/native/libkraft.so"},
            ["raft/native/libkraft.so is not expected"],
            id="compiled library",
        ),
    ],
)
def test_source_distribution_is_refused_when_a_file_is_wrong(
    tmp_path: Path, names: set[str], problems: list[str]
) -> None:
    archive = tmp_path / "kraft_spark-1.2.3.tar.gz"
    with tarfile.open(archive, "w:gz") as files:
        for name in names:
            files.addfile(tarfile.TarInfo(f"kraft_spark-1.2.3/{name}"), io.BytesIO())

    assert list(source_problems(archive, version="1.2.3", modules=MODULES)) == problems


@pytest.mark.parametrize(
    ("library", "machine"),
    [
        pytest.param(elf(62), "x86_64", id="ELF x86-64"),
        pytest.param(elf(183), "aarch64", id="ELF aarch64"),
        pytest.param(elf(243), None, id="ELF of another machine"),
        pytest.param(mach_o(0x01000007), "x86_64", id="Mach-O x86-64"),
        pytest.param(mach_o(0x0100000C), "arm64", id="Mach-O arm64"),
        pytest.param(bytes(64), None, id="neither"),
    ],
)
def test_machine_of_a_library_is_read_from_its_first_bytes(library: bytes, machine: str | None) -> None:
    assert machine_of(library) == machine


def test_package_files_are_modules_and_marks_of_typed_packages() -> None:
    found = package_files(ROOT)

    assert {"raft/__init__.py", "datasource/py.typed", "pyspark_kraft/__init__.py"} <= found
    assert {Path(name).suffix for name in found} == {".py", ".typed"}
