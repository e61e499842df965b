"""The last release, and the Spark session of all tests."""

from __future__ import annotations

import os

import pytest

from tests.spark.session import put_shared_session_last
from tests.spark.session import spark as spark
from tests.upgrade.release import NoReleaseError, Release, has_whole_history, unpack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_shared_session_last(items)


@pytest.fixture(scope="session")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    try:
        return unpack(tmp_path_factory.mktemp("release"))
    except NoReleaseError as error:
        missing = f"the last release cannot be unpacked: {error}"
    # A checkout without the history, as some of CI are, cannot have the commit. Any other one of CI must have it.
    if os.environ.get("CI") and has_whole_history():
        pytest.fail(missing)
    pytest.skip(missing)
