"""Both scanners, for tests that hold for either."""

from __future__ import annotations

import pytest

from raft.records.compiled_scanner import LIBRARY, CompiledScanner
from raft.records.python_scanner import PythonScanner
from raft.records.scanner import Scanner


@pytest.fixture(scope="session")
def compiled() -> Scanner:
    return CompiledScanner(LIBRARY)


@pytest.fixture(scope="session")
def python() -> Scanner:
    return PythonScanner()


@pytest.fixture(scope="session", params=["compiled", "python"])
def scanner(request: pytest.FixtureRequest) -> Scanner:
    """One scanner, then the other."""
    chosen: Scanner = request.getfixturevalue(request.param)
    return chosen
