"""One application of Spark with planted secrets, which all tests of this folder look at."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.secured.secured_quorum import SecuredQuorum
from tests.secured_spark.planting import plant
from tests.secured_spark.seen import Seen, run


@pytest.fixture(scope="session")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    """What the application has shown, written and said; it still runs."""
    folder: Path = tmp_path_factory.mktemp("planted")
    with ExitStack() as stack:
        quorum = stack.enter_context(SecuredQuorum(folder).start())
        quorum.settle()
        # Nodes read new passwords within a second, long before the application connects.
        yield run(stack, quorum, plant(quorum, folder), folder)
