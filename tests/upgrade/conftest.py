"""The last release, and the Spark session of all tests."""

from __future__ import annotations

import pytest

from tests.spark.session import put_shared_session_last
from tests.spark.session import spark as spark
from tests.upgrade.release import Release, unpack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_shared_session_last(items)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return unpack(tmp_path_factory.mktemp("release"))
