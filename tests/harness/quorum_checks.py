"""What is wrong with the nodes of a quorum, apart from what clients saw."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from raft.storage.directory_check import DirectoryCheck
from raft.storage.disk import DiskFiles
from raft.storage.log_check import LogFinding
from tests.harness.leaks import leaks
from tests.processes.node_process import NodeProcess
from tests.processes.node_quorum import NodeQuorum

_ELECTED = re.compile(r"node (\d+) epoch (\d+): \w+ -> Leader")


def wrong_while_running(quorum: NodeQuorum) -> Iterator[str]:
    """Say which nodes do not run, and which show a secret in their metrics."""
    yield from quorum.unexpected_ends()
    yield from leaks(quorum.nodes.values())


def wrong_after_stop(quorum: NodeQuorum) -> Iterator[str]:
    """Say which errors the nodes have reported, which epochs had two leaders, and which files are not sound."""
    yield from quorum.reported_errors()
    yield from leaks(quorum.nodes.values())
    leaders: dict[int, list[int]] = defaultdict(list)
    for node in quorum.nodes.values():
        for elected_id, epoch in _ELECTED.findall(node.output):
            leaders[int(epoch)].append(int(elected_id))
    for epoch, elected in leaders.items():
        if len(elected) > 1:
            yield f"epoch {epoch} had more than one leader: nodes {elected}"
    for node in quorum.nodes.values():
        yield from _unsound_files(node)


def leader_changes(quorum: NodeQuorum) -> int:
    """Return how many times a leader was elected after the first time."""
    return sum(len(_ELECTED.findall(node.output)) for node in quorum.nodes.values()) - 1


def _unsound_files(node: NodeProcess) -> Iterator[str]:
    check = DirectoryCheck(DiskFiles(node.log_dir))
    try:
        for found in check.findings():
            if found.state is not LogFinding.SOUND:
                yield f"{node.name}: {found.name} is {found.state}: {found.detail}"
    finally:
        check.close()
