"""The processor time that appends take: of every process, and of the parts of the leader.

Processor times are those that the system counts. The times of the parts come from samples of the leader's stacks
(py-spy), taken while it held the interpreter's lock: each counts for the innermost of our packages on the stack.
Sampling slows the process, so it has a load of its own. If the system forbids sampling, the parts are left out.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.results import Figures
from raft.local import LocalQuorum
from raft.types import NodeId

_PARTS = {
    "raft/core/": "core",
    "raft/node/": "sockets, threads, engine",
    "raft/wire/": "wire",
    "raft/codec/": "wire",
    "raft/writers/": "core",
    "raft/storage/": "log",
    "raft/records/": "log",
}
_ELSEWHERE = "event loop"
_SAMPLES_A_SECOND = 250


def cpu_figures(label: str, quorum: LocalQuorum, leader_id: NodeId, load: Callable[[], int]) -> Figures:
    """Return the processor milliseconds of each process for one append; `load` returns how many it made."""
    nodes = {node_id: psutil.Process(pid) for node_id, pid in quorum.pids.items()}
    before = {node_id: _cpu_s(node) for node_id, node in nodes.items()}
    before_here = time.process_time()
    count = load()
    here_ms = (time.process_time() - before_here) * 1000 / count
    spent_ms = {node_id: (_cpu_s(node) - before[node_id]) * 1000 / count for node_id, node in nodes.items()}
    followers_ms = [spent for node_id, spent in spent_ms.items() if node_id != leader_id]
    return {
        f"{label}: client CPU ms an append": here_ms,
        f"{label}: leader CPU ms an append": spent_ms[leader_id],
        f"{label}: follower CPU ms an append": sum(followers_ms) / len(followers_ms),
    }


def part_figures(label: str, leader: int, load: Callable[[], object]) -> Figures:
    """Return the shares of the leader's parts in its time with the interpreter's lock, in percent."""
    with tempfile.TemporaryDirectory() as name:
        stacks = Path(name, "stacks")
        with _sampled(leader, stacks):
            load()
        counts = _count(stacks.read_text()) if stacks.exists() else Counter()
    total = counts.total()
    return {f"{label}: leader's {part} %": 100 * count / total for part, count in counts.most_common()}


@contextmanager
def _sampled(pid: int, stacks: Path) -> Iterator[None]:
    py_spy = Path(sys.executable).with_name("py-spy")
    command = [str(py_spy), "record", "--pid", str(pid), "--format", "raw", "--output", str(stacks)]
    command += ["--gil", "--nonblocking", "--rate", str(_SAMPLES_A_SECOND), "--duration", "unlimited"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as sampler:
        try:
            yield
        finally:
            sampler.send_signal(signal.SIGINT)
            _, said = sampler.communicate()
    if sampler.returncode:
        print(f"the leader cannot be sampled: {said.strip()}")


def _count(stacks: str) -> Counter[str]:
    """Count the samples of each part; a line has frames from the outermost to the innermost, and their count."""
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        frames, _, times = line.rpartition(" ")
        counts[_part(frames)] += int(times)
    return counts


def _part(frames: str) -> str:
    innermost = max(_PARTS, key=lambda package: frames.rfind(f"({package}"))
    return _PARTS[innermost] if f"({innermost}" in frames else _ELSEWHERE


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
