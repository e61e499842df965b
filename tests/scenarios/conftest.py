"""The option `--rewrite` of the scenario files."""

from __future__ import annotations

import pytest

OPTION = "--rewrite"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, action="store_true", help="write the present output of the scenarios into their files")


@pytest.fixture
def is_rewriting(request: pytest.FixtureRequest) -> bool:
    """Whether outputs are written instead of compared. The option exists only where this folder is named."""
    return bool(request.config.getoption(OPTION, default=False))
