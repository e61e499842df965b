"""Builds the source distribution, and from it one wheel for each platform."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from build_native import VARIABLE

PLATFORMS = ("manylinux_2_17_x86_64", "manylinux_2_17_aarch64", "macosx_11_0_x86_64", "macosx_11_0_arm64")
"""The platforms that a release has a wheel for; on others the source distribution is compiled."""


def build_source_distribution(root: Path, folder: Path) -> Path:
    """Build the source distribution of the checkout at `root`, and remove what was in `folder` before.

    Raises:
        subprocess.CalledProcessError: the build failed.
    """
    shutil.rmtree(folder, ignore_errors=True)
    _build("sdist", folder, source=root, environment=dict(os.environ))
    (archive,) = folder.glob("*.tar.gz")
    return archive


def build_wheel(archive: Path, platform: str) -> Path:
    """Build the wheel of one platform beside the source distribution, from its files alone.

    The checkout does not change: its libraries are those of this machine, and a running program may have loaded them.

    Args:
        archive: the source distribution.
        platform: one of `PLATFORMS`.

    Raises:
        subprocess.CalledProcessError: the build failed.
    """
    with tempfile.TemporaryDirectory() as scratch:
        with tarfile.open(archive) as files:
            files.extractall(scratch, filter="data")
        (source,) = Path(scratch).iterdir()
        _build("wheel", archive.parent, source=source, environment=os.environ | {VARIABLE: platform})
    (wheel,) = archive.parent.glob(f"*-{platform}.whl")
    return wheel


def _build(kind: str, folder: Path, *, source: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(folder.resolve())]
    subprocess.run(command, cwd=source, env=environment, check=True)
