"""Invariants of logs: two logs that agree at an offset agree below it, and committed records are not truncated."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, read_epochs
from raft.types import Epoch, NodeId, Offset
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.observer import Invariant
from tests.simulation.log_model import Entry
from tests.simulation.machine import Machine
from tests.simulation.starting import DIRECTORY
from tests.simulation.step import Step

_CHECK_EVERY = 64
"""A slow check is made once in so many appends or flushes."""


class LogsMatch(Invariant):
    """Two logs with a record of the same offset and epoch are equal up to it, at all times (Raft's log matching)."""

    rules = ("TEST-9",)

    def __init__(self) -> None:
        self._chains: dict[tuple[Offset, Epoch], int] = {}

    def log_appended(self, step: Step) -> None:
        for entry in step.appended:
            self._check(step.machine, entry, self._chains.get(_point(entry), entry.chain))

    def file_append_begun(self, machine: Machine, entries: Sequence[Entry]) -> None:
        for entry in entries:
            self._check(machine, entry, self._chains.setdefault(_point(entry), entry.chain))

    def _check(self, machine: Machine, entry: Entry, known: int) -> None:
        self.require(
            known == entry.chain,
            "%s: the log up to (offset, epoch) %s differs from that of another node",
            machine,
            _point(entry),
        )


def _point(entry: Entry) -> tuple[Offset, Epoch]:
    return entry.header.end_offset, entry.header.epoch


class LeadersOnlyAppend(Invariant):
    """A leader never truncates its log."""

    rules = ("TEST-9",)

    def log_truncated(self, step: Step) -> None:
        self.require(step.leadership is None, "%s leads and truncates its log", step.machine)


class CommittedIsNotTruncated(Invariant):
    """A node truncates nothing below its high watermark, and nothing else that was committed in its epoch or before.

    While it follows an old leader, it may truncate a record that is committed in a later epoch: it does not count for
    that commit, because a node that has confirmed records to a leader is in the epoch of that leader.
    """

    rules = ("DIVERGE-7", "TEST-9")

    def __init__(self, committed: CommittedLog) -> None:
        self._committed = committed
        self._ends: list[Offset] = []
        self._epochs: list[Epoch] = []
        """The epoch in which a leader committed what is below the offset at the same place of `_ends`."""

    def high_watermark_moved(self, step: Step) -> None:
        end_offset = step.high_watermark
        if step.leadership is None or end_offset is None:
            return
        if not self._ends or end_offset > self._ends[-1]:
            self._ends.append(end_offset)
            self._epochs.append(step.leadership.epoch)

    def log_truncated(self, step: Step) -> None:
        first = step.truncated[0]
        start_offset, end_offset = first.header.base_offset, first.header.end_offset
        known = step.high_watermark_before or Offset(0)
        self.require(
            start_offset >= known, "%s truncates to %s, below its high watermark %s", step.machine, start_offset, known
        )
        if self._committed.model.chain_at(end_offset) == first.chain:
            epoch, committed_in = step.role_after.epoch, self._epochs[bisect_left(self._ends, end_offset)]
            detail = "%s truncates offset %s in epoch %s, which is committed since epoch %s"
            self.require(epoch < committed_in, detail, step.machine, start_offset, epoch, committed_in)


class ViewMatchesLog(Invariant):
    """The core's view of its log matches the log."""

    rules = ("LOG-10", "DIVERGE-6")

    def __init__(self) -> None:
        self._appends: Counter[NodeId] = Counter()

    def log_truncated(self, step: Step) -> None:
        self._check_end(step)
        self._check_epochs(step)

    def log_appended(self, step: Step) -> None:
        self._check_end(step)
        self._appends[step.machine.node_id] += 1
        if self._appends[step.machine.node_id] % _CHECK_EVERY == 0 or step.begins_leadership:
            self._check_epochs(step)

    def _check_end(self, step: Step) -> None:
        view, end_offset = step.machine.core.log, step.log.end_offset
        self.require(
            view.end_offset == end_offset, "%s: the view ends at %s, the log at %s", step.machine, view.end, end_offset
        )

    def _check_epochs(self, step: Step) -> None:
        known, found = step.machine.core.log.epochs, step.log.epochs
        self.require(known == found, "%s: the view has the epochs %s, the log %s", step.machine, known, found)


class EpochCheckpointMatchesLog(Invariant):
    """After each flush the leader-epoch-checkpoint lists the epochs of the batches on the disk, if that has room."""

    rules = ("LOG-10", "LOG-11")

    def __init__(self) -> None:
        self._flushes: Counter[NodeId] = Counter()
        self._last_epochs: dict[NodeId, Epoch] = {}

    def log_flushed(self, machine: Machine) -> None:
        node_id, log = machine.node_id, machine.written.model
        if not log.entries:
            return
        name = f"{DIRECTORY}/{EPOCH_CHECKPOINT_NAME}"
        if name in machine.files.late_names:
            self._last_epochs.pop(node_id, None)
            return
        last_epoch = log.entries[-1].header.epoch
        self._flushes[node_id] += 1
        if self._last_epochs.get(node_id) == last_epoch and self._flushes[node_id] % _CHECK_EVERY:
            return
        self._last_epochs[node_id] = last_epoch
        found = read_epochs(machine.files.after_power_cut(name), name)
        self.require(found == log.epochs, "%s: the checkpoint holds %s, the log %s", machine, found, log.epochs)
