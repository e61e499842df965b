"""Which scenarios the tests of one run have shown: a plugin of pytest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pytest


class Outcomes:
    """Keeps the outcome of each test by the numbers that it cites.

    Args:
        marker: the name of the mark that has the numbers.
    """

    def __init__(self, marker: str) -> None:
        self._marker = marker
        self._cited: dict[str, set[int]] = {}
        self._passed: dict[int, set[str]] = defaultdict(set)
        self._failed: dict[int, set[str]] = defaultdict(set)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which test cites which numbers."""
        for item in session.items:
            self._cited[item.nodeid] = {number for mark in item.iter_markers(self._marker) for number in mark.args}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the outcome of one phase of a test. A test that is skipped proves nothing."""
        for number in self._cited.get(report.nodeid, ()):
            if report.failed:
                self._failed[number].add(report.nodeid)
            elif report.passed and report.when == "call":
                self._passed[number].add(report.nodeid)

    def of(self, number: int) -> tuple[int, Sequence[str]]:
        """Return how many tests of a scenario have passed, and the names of those that failed."""
        failed = self._failed[number]
        return len(self._passed[number] - failed), sorted(name.rpartition("::")[2] for name in failed)
