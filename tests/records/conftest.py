"""The scanner of the product and that of the oracle, for tests that hold for either."""

from __future__ import annotations

import pytest

from raft.records import scanner as compiled_scanner
from tests.oracles.scanner import PythonScanner, Scanner


@pytest.fixture(scope="session")
def compiled() -> Scanner:
    return compiled_scanner


@pytest.fixture(scope="session")
def python() -> Scanner:
    return PythonScanner()


@pytest.fixture(scope="session", params=["compiled", "python"])
def scanner(request: pytest.FixtureRequest) -> Scanner:
    """One scanner, then the other."""
    chosen: Scanner = request.getfixturevalue(request.param)
    return chosen
