"""Build hook: compiles `datasource/columns/kernel.c` with the C compiler that ziglang brings, into any kind of wheel.

The library has no Python ABI, so one wheel a platform serves every Python version. It is built for the oldest system
of its kind (glibc 2.17, macOS 11) and the plainest processor, not for the machine that builds it.
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

FOLDER = Path("datasource", "columns")
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
COMPILE = [sys.executable, "-m", "ziglang", "cc", "-std=c11", "-O3", "-shared", "-fvisibility=hidden", "-s"]
# Zig adds traps for undefined behaviour to what it does not optimise; they are off whatever its defaults become.
COMPILE += ["-fno-sanitize=all", "-Wall", "-Wextra", "-Werror"]


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernel before hatchling collects the files of a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the platform in the wheel's tag.

        Args:
            version: "standard" or "editable"; the library lies beside its source either way.
            build_data: hatchling's, to be changed.

        Raises:
            subprocess.CalledProcessError: the compiler refused the source.
        """
        del version
        target, wheel_platform = target_platform()
        library = FOLDER / f"libkernel{SUFFIX}"
        folder = Path(self.root, FOLDER)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            # Put in place by a rename: another process may have the old library mapped.
            compiled = Path(scratch, library.name)
            subprocess.run([*COMPILE, *target, "-o", str(compiled), str(folder / "kernel.c")], check=True)
            compiled.replace(folder / library.name)
        build_data["tag"] = f"py3-none-{wheel_platform}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(library.as_posix())


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
