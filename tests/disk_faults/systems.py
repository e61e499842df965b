"""The systems that a run can strike, by their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.disk_faults.kraft_system import KraftSystem
from tests.disk_faults.system import System
from tests.disk_faults.volume import Volume
from tests.harness.planted import FLUSHES_NOTHING, serve_with


def _nats(folder: Path, volumes: Sequence[Volume]) -> System:
    # Its client and its server are not among the tools of the tests: scripts/ensure_nats.sh installs them.
    from tests.disk_faults.nats_system import NatsSystem

    return NatsSystem(folder, volumes)


SYSTEMS: Mapping[str, Callable[[Path, Sequence[Volume]], System]] = {
    "kraft": KraftSystem,
    "kraft without flushes": partial(KraftSystem, command=serve_with(FLUSHES_NOTHING)),
    "nats": _nats,
}
"""Makes a system on volumes; its nodes do not run yet."""
