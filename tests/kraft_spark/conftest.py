"""The Spark session that all tests share."""

from __future__ import annotations

import pytest

from tests.spark.session import put_shared_session_last
from tests.spark.session import spark as spark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    put_shared_session_last(items)
