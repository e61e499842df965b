"""What all tests share: how hypothesis searches, and which tests go together.

Two profiles: `deterministic`, for every run, tries the same examples each time and has no deadline, because this may be
a slow machine; `exhaustive`, on demand (`HYPOTHESIS_PROFILE=exhaustive`), tries many new ones.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.simulation.mutations.summary import pytest_terminal_summary

__all__ = ["pytest_terminal_summary"]

settings.register_profile(
    "deterministic",
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("exhaustive", max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "deterministic"))

# The tests start hundreds of processes that live for seconds. Without compiled modules on disk, every Python process
# would compile the product again. A JVM of Spark would spend half its time on loading classes and optimizing code that
# hardly runs; `make test` makes the archive, and without it the JVM just loads the classes.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
_CLASSES = Path(__file__).parents[1] / ".cache" / "spark.jsa"
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={_CLASSES} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

_TOGETHER = {
    "java": "java",
    "spark": "spark",
    "kraft_spark": "spark",
    "benchmarks": "benchmarks",
    "examples": "examples",
    "simulation": "simulation",
}
"""Folders whose tests share something dear: they go to one process of `make test`, and first, as they take longest."""


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands whole groups of tests to the processes of `make test`: those of a folder above, else those of a file."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Schedule by groups."""
    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the groups that take longest first."""
    ranks = {group: rank for rank, group in enumerate(dict.fromkeys(_TOGETHER.values()))}
    items.sort(key=lambda item: ranks.get(_group(item.nodeid), len(ranks)))


def _group(nodeid: str) -> str:
    path = nodeid.split("::")[0]
    return _TOGETHER.get(path.split("/")[1], path)
