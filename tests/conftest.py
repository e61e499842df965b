"""What all tests share: how hypothesis searches, the environment of started processes, and which tests go together.

Two profiles: `deterministic`, for every run, tries the same examples each time and has no deadline, because this may be
a slow machine; `exhaustive`, on demand (`HYPOTHESIS_PROFILE=exhaustive`), tries many new ones.
"""

from __future__ import annotations

import gc
import os
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from raft.local import ports
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

# A shell that starts the tests in the background makes them ignore SIGINT. The processes that they start would too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The tests start hundreds of processes that live for seconds. Without compiled modules on disk, every Python process
# would compile the product again. A JVM of Spark would spend half its time on loading classes and optimizing code that
# hardly runs, and Spark's Python processes two thirds of theirs on compiling pyspark. `make test` makes this home of
# Spark (scripts/spark_home.py) and the archive of classes in it; without them, the processes just start more slowly.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
_SPARK_HOME = Path(__file__).parents[1] / ".cache" / "spark"
_CLASSES = _SPARK_HOME / "classes.jsa"
if _CLASSES.exists():
    os.environ.setdefault("SPARK_HOME", str(_SPARK_HOME))
os.environ.setdefault("SPARK_SUBMIT_OPTS", f"-XX:SharedArchiveFile={_CLASSES} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# The processes of `make test` choose ports at the same time, and some listen on theirs seconds later.
_PROCESSES = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
_PROCESS = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS_EACH = len(ports._PORTS) // _PROCESSES
ports._PORTS = ports._PORTS[_PROCESS * _PORTS_EACH : (_PROCESS + 1) * _PORTS_EACH]

_ALLOCATIONS_PER_COLLECTION = 20_000
"""Python's default of 700 costs a sixth of the simulator's time."""

_GROUPS = {
    "spark/test_data_loss.py": "half of Spark's",
    "spark/test_executors.py": "half of Spark's",
    "spark/test_lost_records.py": "half of Spark's",
    "spark/test_option_errors.py": "half of Spark's",
    "spark/test_query_starts.py": "half of Spark's",
    "spark/test_read_limits.py": "half of Spark's",
    "spark": "the other half",
    "java/test_mixed_quorums.py": "mixed quorums",
    "java": "java",
    "secured/test_mixed_quorums.py": "secured voters",
    "secured/test_observer.py": "secured voters",
    "secured/test_raft_server.py": "secured voters",
    "secured/test_reauthentication.py": "secured sessions",
    "secured/test_spark_kafka.py": "secured sessions",
    "secured": "secured clients",
    "kraft_spark": "application",
    "upgrade": "application",
    "examples": "examples",
    "simulation/test_seeds.py": "seeds",
    "benchmarks": "benchmarks",
    "simulation/test_mutations.py": "planted bugs",
}
"""Tests that go to one process of `make test`, by the beginnings of their paths; the first that fits counts.

The tests of a group share something that takes long to start; the groups that take longest are first. All other tests
are grouped by files.
"""


class GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands whole groups of tests to the processes of `make test`."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    """Schedule by groups."""
    return GroupScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the groups that take longest first."""
    ranks = {group: rank for rank, group in enumerate(dict.fromkeys(_GROUPS.values()))}
    items.sort(key=lambda item: ranks.get(_group(item.nodeid), len(ranks)))


def pytest_collection_finish() -> None:
    """Exclude what lives as long as the process, all modules and thousands of tests, from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_PER_COLLECTION)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Collect garbage after each file: what its tests left open is reported there, and not in a later file."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()


def _group(nodeid: str) -> str:
    path = nodeid.split("::")[0].removeprefix("tests/")
    return next((group for place, group in _GROUPS.items() if path.startswith(place)), path)
