"""Build hook: compiles what is written in C with the compiler that ziglang brings, into any kind of wheel.

    raft/records/scanner.c         checks the records that a node takes
    raft/compaction/compactor.c    finds the newest record of each key
    datasource/columns/kernel.c    makes columns of records, and records of columns

The libraries have no Python ABI, so one wheel a platform serves every Python version. They are built for the oldest
system of its kind (glibc 2.17, macOS 11) and the plainest processor, not for the machine that builds them. The compiler
builds for every platform on any machine: `KRAFT_WHEEL_PLATFORM` names another one than this machine's.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (
    Path("raft", "records", "scanner.c"),
    Path("raft", "compaction", "compactor.c"),
    Path("datasource", "columns", "kernel.c"),
)
HEADERS = Path("raft", "records")
VARIABLE = "KRAFT_WHEEL_PLATFORM"
"""Environment variable: the platform to build for, a key of `TARGETS`; without it, the platform of this machine."""

COMPILE = [sys.executable, "-m", "ziglang", "cc", "-std=c11", "-O3", "-shared", "-fvisibility=hidden", "-s"]
# Zig adds traps for undefined behaviour to what it does not optimise; they are off whatever its defaults become.
COMPILE += ["-fno-sanitize=all", "-Wall", "-Wextra", "-Werror"]


class Target(NamedTuple):
    """What the libraries of a wheel are compiled for.

    Fields:
        compiler_target: in zig's words; None for the machine that compiles.
        suffix: of a shared library's file name.
    """

    compiler_target: str | None
    suffix: str


TARGETS = {
    "manylinux_2_17_x86_64": Target("x86_64-linux-gnu.2.17", ".so"),
    "manylinux_2_17_aarch64": Target("aarch64-linux-gnu.2.17", ".so"),
    "musllinux_1_1_x86_64": Target("x86_64-linux-musl", ".so"),
    "musllinux_1_1_aarch64": Target("aarch64-linux-musl", ".so"),
    "macosx_11_0_x86_64": Target("x86_64-macos.11.0", ".dylib"),
    "macosx_11_0_arm64": Target("aarch64-macos.11.0", ".dylib"),
}
"""By the platform's name in a wheel's tag."""


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the libraries before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform in the wheel's tag.

        Args:
            version: "standard" or "editable"; a library lies beside its source either way.
            build_data: hatchling's, to be changed.

        Raises:
            ValueError: no wheels are built for the platform that the environment names.
            subprocess.CalledProcessError: the compiler refused a source.
        """
        del version
        wheel_platform, target = chosen_platform(os.environ.get(VARIABLE))
        for source in SOURCES:
            library = source.with_name(f"lib{source.stem}{target.suffix}")
            self._compile(target, source, library)
            build_data["artifacts"].append(library.as_posix())
        build_data["tag"] = f"py3-none-{wheel_platform}"
        build_data["pure_python"] = False

    def _compile(self, target: Target, source: Path, library: Path) -> None:
        folder = Path(self.root, source.parent)
        arguments = [] if target.compiler_target is None else ["-target", target.compiler_target]
        if target.suffix == ".dylib":
            # Else the name that a dylib carries would be the path of the temporary folder below.
            arguments.append(f"-Wl,-install_name,@rpath/{library.name}")
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            # Put in place by a rename: another process may have the old library mapped.
            compiled = Path(scratch, library.name)
            headers = f"-I{Path(self.root, HEADERS)}"
            subprocess.run([*COMPILE, *arguments, headers, "-o", str(compiled), str(folder / source.name)], check=True)
            compiled.replace(folder / library.name)


def chosen_platform(choice: str | None) -> tuple[str, Target]:
    """Return the platform to build for, as a wheel's tag names it, and what to compile for.

    Args:
        choice: a key of `TARGETS`; None for the platform of this machine.

    Raises:
        ValueError: it is no key of `TARGETS`.
    """
    if choice is None:
        name = host_platform()
        suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
        return name, TARGETS.get(name, Target(None, suffix))
    if choice not in TARGETS:
        raise ValueError(f"{VARIABLE}={choice}: expected one of {', '.join(TARGETS)}")
    return choice, TARGETS[choice]


def host_platform() -> str:
    """Return the name of this machine's platform in a wheel's tag: a key of `TARGETS` where wheels are built for it."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    if machine in ("x86_64", "aarch64"):
        match sys.platform, platform.libc_ver()[0]:
            case "linux", "glibc":
                return f"manylinux_2_17_{machine}"
            case "linux", _:
                return f"musllinux_1_1_{machine}"
            case "darwin", _:
                return f"macosx_11_0_{platform.machine()}"
            case _:
                pass
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")
