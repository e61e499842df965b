"""An authority and certificates, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.security.certificates import Files


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Certificates that all tests read, and none replaces."""
    return Files.create(tmp_path_factory.mktemp("certificates"))


@pytest.fixture
def own_files(tmp_path: Path) -> Files:
    """Certificates of one test, which may replace them."""
    return Files.create(tmp_path)
