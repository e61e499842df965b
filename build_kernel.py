"""Build hook: compiles what is written in C with the compiler that ziglang brings, into any kind of wheel.

    raft/records/scanner.c         checks the records that a node takes
    datasource/columns/kernel.c    makes columns of records, and records of columns

The libraries have no Python ABI, so one wheel a platform serves every Python version. They are built for the oldest
system of its kind (glibc 2.17, macOS 11) and the plainest processor, not for the machine that builds them.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = (Path("raft", "records", "scanner.c"), Path("datasource", "columns", "kernel.c"))
HEADERS = Path("raft", "records")
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
COMPILE = [sys.executable, "-m", "ziglang", "cc", "-std=c11", "-O3", "-shared", "-fvisibility=hidden", "-s"]
# Zig adds traps for undefined behaviour to what it does not optimise; they are off whatever its defaults become.
COMPILE += ["-fno-sanitize=all", "-Wall", "-Wextra", "-Werror"]


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the libraries before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform in the wheel's tag.

        Args:
            version: "standard" or "editable"; a library lies beside its source either way.
            build_data: hatchling's, to be changed.

        Raises:
            subprocess.CalledProcessError: the compiler refused a source.
        """
        del version
        target, wheel_platform = target_platform()
        for source in SOURCES:
            library = source.with_name(f"lib{source.stem}{SUFFIX}")
            self._compile(target, source, library)
            build_data["artifacts"].append(library.as_posix())
        build_data["tag"] = f"py3-none-{wheel_platform}"
        build_data["pure_python"] = False

    def _compile(self, target: list[str], source: Path, library: Path) -> None:
        folder = Path(self.root, source.parent)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            # Put in place by a rename: another process may have the old library mapped.
            compiled = Path(scratch, library.name)
            headers = f"-I{Path(self.root, HEADERS)}"
            subprocess.run([*COMPILE, *target, headers, "-o", str(compiled), str(folder / source.name)], check=True)
            compiled.replace(folder / library.name)


def target_platform() -> tuple[list[str], str]:
    """Return the compiler's arguments for this platform and its name in a wheel's tag."""
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine().lower(), platform.machine())
    if machine in ("x86_64", "aarch64"):
        match sys.platform, platform.libc_ver()[0]:
            case "linux", "glibc":
                return ["-target", f"{machine}-linux-gnu.2.17"], f"manylinux_2_17_{machine}"
            case "linux", _:
                return ["-target", f"{machine}-linux-musl"], f"musllinux_1_1_{machine}"
            case "darwin", _:
                return ["-target", f"{machine}-macos.11.0"], f"macosx_11_0_{platform.machine()}"
            case _:
                pass
    return [], sysconfig.get_platform().replace("-", "_").replace(".", "_")
