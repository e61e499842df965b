"""Build hook: compiles the library in C (`raft/native`) with the compiler that ziglang brings, into any kind of wheel.

The library has no Python ABI, so one wheel per platform serves every Python version. It is built for the oldest system
of its kind (glibc 2.17, macOS 11) and the plainest processor, not for the machine that builds it. The compiler builds
for every platform on any machine: `KRAFT_WHEEL_PLATFORM` names another one than this machine's.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("raft", "native")
SOURCES = ("scanner.c", "compactor.c", "columns.c", "version.c")
HEADERS = ("record.h",)
VARIABLE = "KRAFT_WHEEL_PLATFORM"
"""Environment variable: the platform to build for, a key of `TARGETS`; without it, the platform of this machine."""

COMPILER = (sys.executable, "-m", "ziglang", "cc")
FLAGS = ["-std=c11", "-O3", "-shared", "-fvisibility=hidden", "-s"]
# Zig adds traps for undefined behaviour to what it does not optimise; they are off whatever its defaults become.
FLAGS += ["-fno-sanitize=all", "-Wall", "-Wextra", "-Werror"]


class Target(NamedTuple):
    """What the library of a wheel is compiled for.

    Fields:
        compiler_target: in zig's words; None for the machine that compiles.
        suffix: of a shared library's file name.
    """

    compiler_target: str | None
    suffix: str

    @property
    def library(self) -> Path:
        """Where the library lies in the packages."""
        return FOLDER / f"libkraft{self.suffix}"


TARGETS = {
    "manylinux_2_17_x86_64": Target("x86_64-linux-gnu.2.17", ".so"),
    "manylinux_2_17_aarch64": Target("aarch64-linux-gnu.2.17", ".so"),
    "musllinux_1_1_x86_64": Target("x86_64-linux-musl", ".so"),
    "musllinux_1_1_aarch64": Target("aarch64-linux-musl", ".so"),
    "macosx_11_0_x86_64": Target("x86_64-macos.11.0", ".dylib"),
    "macosx_11_0_arm64": Target("aarch64-macos.11.0", ".dylib"),
}
"""By the platform's name in a wheel's tag."""


class NativeBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the library before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform in the wheel's tag. Ends the build with a message if that is impossible.

        Args:
            version: "standard" or "editable"; the library lies beside its sources either way.
            build_data: hatchling's, to be changed.
        """
        del version
        try:
            wheel_platform, target = chosen_platform(os.environ.get(VARIABLE))
            compile_library(Path(self.root), target)
        except BuildError as error:
            self.app.abort(f"kraft-spark cannot be built: {error}")
        build_data["artifacts"].append(target.library.as_posix())
        build_data["tag"] = f"py3-none-{wheel_platform}"
        build_data["pure_python"] = False


class BuildError(Exception):
    """The library cannot be compiled."""


def compile_library(root: Path, target: Target, compiler: Sequence[str] = COMPILER) -> None:
    """Compile the library beside its sources.

    Args:
        root: of the checkout or the source distribution.
        target: what to compile for.
        compiler: the command.

    Raises:
        BuildError: there is no compiler, or it has failed; what it printed is on standard error.
    """
    folder = root / FOLDER
    arguments = [] if target.compiler_target is None else ["-target", target.compiler_target]
    if target.suffix == ".dylib":
        # Else the name that a dylib carries would be the path of the temporary folder below.
        arguments.append(f"-Wl,-install_name,@rpath/{target.library.name}")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        # Put in place by a rename: another process may have the old library mapped.
        compiled = Path(scratch, target.library.name)
        sources = [str(folder / source) for source in SOURCES]
        command = [*compiler, *FLAGS, *arguments, "-o", str(compiled), *sources]
        try:
            subprocess.run(command, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            reason = f"exit code {error.returncode}" if isinstance(error, subprocess.CalledProcessError) else error
            raise BuildError(
                f"`{' '.join(compiler)}` could not compile the C sources in {FOLDER.as_posix()} ({reason}). It comes "
                "with the package ziglang, which has to be installed and to run on this machine. A wheel of a release "
                "needs no compiler: there is one for Linux (glibc 2.17) on x86-64 and aarch64, and for macOS 11 on "
                "x86-64 and arm64"
            ) from error
        compiled.replace(root / target.library)


def chosen_platform(choice: str | None) -> tuple[str, Target]:
    """Return the platform to build for, as a wheel's tag names it, and what to compile for.

    Args:
        choice: a key of `TARGETS`; None for the platform of this machine.

    Raises:
        BuildError: it is no key of `TARGETS`.
    """
    if choice is None:
        name = host_platform()
        suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
        return name, TARGETS.get(name, Target(None, suffix))
    if choice not in TARGETS:
        raise BuildError(f"{VARIABLE}={choice}: expected one of {', '.join(TARGETS)}")
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
