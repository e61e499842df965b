"""Both kernels, for tests that hold for either."""

from __future__ import annotations

import pytest

from datasource.columns.compiled import LIBRARY, CompiledKernel
from datasource.columns.fallback import PythonKernel
from datasource.columns.kernel import Kernel


@pytest.fixture(scope="session")
def compiled() -> Kernel:
    return CompiledKernel(LIBRARY)


@pytest.fixture(scope="session")
def python() -> Kernel:
    return PythonKernel()


@pytest.fixture(scope="session", params=["compiled", "python"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """One kernel, then the other."""
    chosen: Kernel = request.getfixturevalue(request.param)
    return chosen
