"""The checkouts that are compared."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks.checkout import Checkout
from raft.errors import ConfigError


def stand_in(root: Path, script: str) -> None:
    """Put a program in the place of a checkout's Python."""
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f"#!/bin/sh\n{script}\n")
    python.chmod(0o755)


def test_this_checkout_is_the_one_of_this_file() -> None:
    assert Path(__file__).is_relative_to(Checkout.this().root)


def test_checkout_without_an_environment_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="run `make setup` in it first"):
        Checkout.at(tmp_path)


def test_checkout_whose_python_runs_other_code_is_refused(tmp_path: Path) -> None:
    stand_in(tmp_path, "echo /elsewhere/raft/__init__.py")

    with pytest.raises(ConfigError, match=r"runs .*/elsewhere/raft/__init__.py"):
        Checkout.at(tmp_path)


def test_checkout_whose_python_fails_is_refused(tmp_path: Path) -> None:
    stand_in(tmp_path, "echo no such module >&2; exit 1")

    with pytest.raises(ConfigError, match="no such module"):
        Checkout.at(tmp_path)


def test_checkout_whose_python_runs_its_own_code_is_taken(tmp_path: Path) -> None:
    stand_in(tmp_path, f"echo {os.path.realpath(tmp_path)}/raft/__init__.py")

    assert Checkout.at(tmp_path).root == tmp_path.resolve()
