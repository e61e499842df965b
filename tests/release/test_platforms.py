"""Which platform a wheel is built for."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from build_native import TARGETS, VARIABLE, BuildError, Target, chosen_platform, compile_library, host_platform
from scripts.release.building import PLATFORMS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_build_is_for_the_platform_that_is_named(platform: str) -> None:
    assert chosen_platform(platform) == (platform, TARGETS[platform])


def test_build_is_for_this_machine_when_no_platform_is_named() -> None:
    name, target = chosen_platform(None)

    assert name == host_platform()
    assert target == TARGETS.get(name, Target(None, target.suffix))


def test_build_is_refused_when_the_platform_is_unknown() -> None:
    with pytest.raises(BuildError, match=f"{VARIABLE}=win_amd64: expected one of manylinux_2_17_x86_64, "):
        chosen_platform("win_amd64")


def test_build_without_a_compiler_says_what_is_needed(tmp_path: Path) -> None:
    target = Target(None, ".so")
    (tmp_path / target.library).parent.mkdir(parents=True)

    for compiler in (["/nowhere/cc"], [sys.executable, "-m", "no_ziglang"]):
        with pytest.raises(BuildError, match=r"could not compile the C sources in raft/native .*package ziglang"):
            compile_library(tmp_path, target, compiler)
    assert not (tmp_path / target.library).exists()


def test_build_requires_the_versions_that_are_tested() -> None:
    pins = set((ROOT / "requirements" / "tools.txt").read_text().splitlines())
    required = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]

    assert all(re.fullmatch(r"[a-z]+==[0-9.]+", pin) for pin in required)
    assert set(required) <= pins
