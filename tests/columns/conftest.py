"""The kernel of the product and that of the oracle, for tests that hold for either."""

from __future__ import annotations

import pytest

from datasource.columns.kernel import KERNEL, Kernel
from tests.oracles.kernel import PythonKernel


@pytest.fixture(scope="session")
def compiled() -> Kernel:
    return KERNEL


@pytest.fixture(scope="session")
def python() -> Kernel:
    return PythonKernel()


@pytest.fixture(scope="session", params=["compiled", "python"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """One kernel, then the other."""
    chosen: Kernel = request.getfixturevalue(request.param)
    return chosen
