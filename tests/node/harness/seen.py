"""What the operator of a node sees of an attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.node.harness.waiting import eventually


@contextmanager
def seen(count: Callable[[], float], caplog: pytest.LogCaptureFixture, *lines: str, times: int = 1) -> Iterator[None]:
    """Check that an attack, made in the `with` statement, is counted and logged.

    Args:
        count: returns the metric that counts it.
        caplog: has the log lines of the node.
        lines: parts of them that the attack causes.
        times: how often it is counted.
    """
    before = count()
    yield
    eventually(lambda: count() >= before + times, f"it is counted {times} times")
    assert count() == before + times, "and not more often"
    for line in lines:
        eventually(lambda line=line: line in caplog.text, f"a line with {line!r}")  # type: ignore[misc]
