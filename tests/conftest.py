"""What all tests share: how hypothesis searches, and which tests go together.

Two profiles: `deterministic`, for every run, tries the same examples each time and has no deadline, because this may be
a slow machine; `exhaustive`, on demand (`HYPOTHESIS_PROFILE=exhaustive`), tries many new ones.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("exhaustive", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))

_TOGETHER = {
    "java": "java",
    "spark": "spark",
    "kraft_spark": "spark",
    "examples": "examples",
    "simulation": "simulation",
}
"""Folders whose tests share something dear: they go to one process of `make test`, and first, as they take longest."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each test the group that it runs with: its folder's, else its file's."""
    ranks = {group: rank for rank, group in enumerate(dict.fromkeys(_TOGETHER.values()))}
    groups = {item.nodeid: _group(config, item) for item in items}
    for item in items:
        item.add_marker(pytest.mark.xdist_group(groups[item.nodeid]))
    items.sort(key=lambda item: ranks.get(groups[item.nodeid], len(ranks)))


def _group(config: pytest.Config, item: pytest.Item) -> str:
    path = item.path.relative_to(config.rootpath)
    return _TOGETHER.get(path.parts[1], str(path))
