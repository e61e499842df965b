"""Both kernels, for tests that hold for either."""

from __future__ import annotations

import pytest

from datasource.columns.compiled import LIBRARY, CompiledKernel
from datasource.columns.fallback import NumpyKernel
from datasource.columns.kernel import Kernel


@pytest.fixture(scope="session")
def compiled() -> Kernel:
    return CompiledKernel(LIBRARY)


@pytest.fixture(scope="session")
def numpy() -> Kernel:
    return NumpyKernel()


@pytest.fixture(scope="session", params=["compiled", "numpy"])
def kernel(request: pytest.FixtureRequest) -> Kernel:
    """One kernel, then the other."""
    chosen: Kernel = request.getfixturevalue(request.param)
    return chosen
