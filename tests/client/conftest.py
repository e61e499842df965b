"""Both drivers, for the tests that hold for either."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from raft.client import ClientSettings
from tests.client.driving import Asynchronous, Blocking, Drive, Driver


@pytest.fixture(params=[Blocking, Asynchronous], ids=["blocking", "asyncio"])
def drive(request: pytest.FixtureRequest) -> Iterator[Drive]:
    """Makes drivers of one kind, and ends them."""
    made: list[Driver] = []

    def make(settings: ClientSettings) -> Driver:
        made.append(request.param(settings))
        return made[-1]

    yield make
    for driver in made:
        driver.end()
