"""Builds a release into dist/, checks it, and tests the wheel of this machine: `python -m scripts.release`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from build_native import host_platform
from raft import __version__
from scripts.release.building import PLATFORMS, build_source_distribution, build_wheel
from scripts.release.inspection import package_files, source_problems, wheel_problems
from scripts.release.trial import try_wheel

ROOT = Path(__file__).parents[2]


def main() -> None:
    changes = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    if changes.stdout:
        sys.exit(f"a release is built from what is committed; commit or remove these first:\n{changes.stdout}")
    modules = package_files(ROOT)
    archive = build_source_distribution(ROOT, ROOT / "dist")
    _report(archive, source_problems(archive, version=__version__, modules=modules))
    wheels = {}
    for platform in PLATFORMS:
        wheels[platform] = wheel = build_wheel(archive, platform)
        _report(wheel, wheel_problems(wheel, version=__version__, platform=platform, modules=modules))
    ours = wheels.get(host_platform())
    if ours is None:
        sys.exit(f"no wheel was built for this machine ({host_platform()}), so none was tested")
    try_wheel(ours, version=__version__)
    print(f"kraft-spark {__version__} is ready in {archive.parent}")


def _report(file: Path, problems: Iterable[str]) -> None:
    """Print that a file is valid, or exit with the first problem."""
    if found := list(problems):
        sys.exit("\n".join(f"{file.name}: {problem}" for problem in found))
    print(f"{file.name}: {file.stat().st_size:,} bytes, checked")


if __name__ == "__main__":
    main()
