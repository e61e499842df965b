"""Prints the table of planted bugs at the end of a run of the tests.

Each test adds its row to its report, so the table also works when tests run in several processes. A conftest that the
main process loads has to import the hook below.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.simulation.mutations.table import table_of

CAUGHT = "planted bug caught"
"""Name of the property that a test adds to its report; its value is a `Row`."""

_IS_SHOWN = pytest.StashKey[bool]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print once which invariant caught which planted bug."""
    reports = [report for reports in terminalreporter.stats.values() for report in reports]
    found = [
        value
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
        for name, value in report.user_properties
        if name == CAUGHT and isinstance(value, Sequence)
    ]
    rows = [(str(bug), str(invariant), int(seed)) for bug, invariant, seed in found]
    if rows and not config.stash.setdefault(_IS_SHOWN, False):
        config.stash[_IS_SHOWN] = True
        terminalreporter.section("planted bugs")
        for line in table_of(rows):
            terminalreporter.write_line(line)
