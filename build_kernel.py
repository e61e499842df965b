"""Build hook: compiles `datasource/columns/kernel.c` into the wheel with the C compiler that ziglang brings.

The library has no Python ABI, so one wheel a platform serves every Python version.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("datasource/columns")
SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernel before hatchling collects the wheel's files."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and tag the wheel with the platform it was compiled for.

        Raises:
            subprocess.CalledProcessError: the compiler refused the source.
        """
        del version
        library = FOLDER / f"libkernel{SUFFIX}"
        command = [sys.executable, "-m", "ziglang", "cc", "-O3", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror"]
        subprocess.run([*command, "-o", str(library), str(FOLDER / "kernel.c")], check=True, cwd=self.root)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
        build_data["pure_python"] = False
        build_data["artifacts"].append(str(library))
