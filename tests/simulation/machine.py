"""A machine: its disk, and the process on it, which may be stopped and started."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Callable
from typing import NoReturn

from raft.core import RaftCore
from raft.core.config import Draw
from raft.core.effects import Effect
from raft.core.log_view import LogView
from raft.core.roles import Leader
from raft.errors import CorruptBatchError, DiskFullError, StorageError
from raft.runtime.replica import core_of
from raft.storage.directory import ReplicaDirectory
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.flushed_mark import FLUSHED_MARK_NAME, FlushedOffsets
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.offset_checkpoint import OffsetCheckpoint
from raft.storage.recovery_point import RECOVERY_POINT_NAME
from raft.storage.scrub import Scrub
from raft.storage.snapshots import SnapshotFolder
from raft.storage.trusted_segments import TrustedSegments
from raft.transactions import ProducerState
from raft.types import ElectionState, Epoch, NodeId, Offset
from tests.memory_files.files import Call, PowerCutError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.environment import Environment
from tests.simulation.leftovers import marks_of_leftovers
from tests.simulation.log_model import LogModel
from tests.simulation.log_on_disk import LogOnDisk
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.marks import Interruption, Mark
from tests.simulation.plan import without_delays
from tests.simulation.process import Process
from tests.simulation.starting import DIRECTORY, TOPIC, empty_producer_state, node_config, open_directory
from tests.simulation.watched import WatchedCore
from tests.simulation.watched_directory import DirectoryListener, WatchedDirectory

_ENTROPY_BYTES = 16
_NOT_AUTHORIZED = "do not authorize its requests"

_PIECE_BYTES = 500
"""How much a scrub checks at once."""


class Machine:
    """One machine of the quorum, stopped at first.

    Attributes:
        node_id: the id of its node.
        files: its disk.
        written: the log on that disk.
        stored: the durable election state.
        incarnation: how many times it was started.
        producers: the core's tables of writers and transactions.
        process: the running process; None while the machine is down.
        draw: the random numbers of the core.
        crash_draw: decides how many unflushed bytes a power cut leaves; None to lose all of them.
        holds_flushes: whether flushes are held back; see `hold_flushes`.
        has_been_damaged: whether a bit of its disk was flipped while it ran.
        planned_kill: the next process is killed in place of the first effect for which this is true; None for no kill.
    """

    def __init__(self, node_id: NodeId, environment: Environment) -> None:
        self.node_id = node_id
        self.files = LossyDisk()
        self.written = LogOnDisk(self.files, DIRECTORY)
        self.stored = ElectionState(epoch=Epoch(0))
        self.incarnation = 0
        self.producers = empty_producer_state(environment.plan)
        self.process: Process | None = None
        self._environment = environment
        self._dice = Dice(environment.plan.seed, f"machine {node_id}")
        self.crash_draw: Draw | None = self._dice.draw
        self.holds_flushes = False
        self.planned_kill: Callable[[Effect], bool] | None = None
        self.draw: Draw = Dice(environment.plan.seed, f"core {node_id}").draw
        self._disk_plan = environment.plan.disk
        self._is_tampered_with = False
        self.has_been_damaged = False

    def __str__(self) -> str:
        return f"node {self.node_id}"

    @property
    def is_voter(self) -> bool:
        """Whether the node is a voter."""
        return self.node_id in self._environment.plan.voters

    @property
    def true_ms(self) -> int:
        """The true time."""
        return self._environment.timeline.now_ms

    @property
    def core(self) -> RaftCore:
        """The core of the running process."""
        assert self.process is not None, f"{self} is down"
        return self.process.core

    @property
    def log(self) -> LogModel:
        """The model of the log as the running core knows it."""
        assert self.process is not None, f"{self} is down"
        return self.process.log

    @property
    def is_leader(self) -> bool:
        """Whether the node runs and has the role of leader."""
        return self.process is not None and isinstance(self.process.core.role, Leader)

    @property
    def has_damaged_disk(self) -> bool:
        """Whether a bit of its disk was flipped, and is not right again."""
        return self.files.is_rotten or self.files.damaged_file is not None

    @property
    def recovery_point(self) -> Offset:
        """The recovery point that a start of this machine, which is down, has to find."""
        files = self.files
        checkpoint = OffsetCheckpoint(files, f"{DIRECTORY}/{RECOVERY_POINT_NAME}", topic=TOPIC, partition=0).offset
        mark = f"{DIRECTORY}/{FLUSHED_MARK_NAME}"
        marked = FlushedOffsets.decode(files.read(mark)) if files.exists(mark) else None
        if marked is None or marked.recovery_point != checkpoint:
            return checkpoint
        return max(checkpoint, marked.end)

    @property
    def checkpointed_high_watermark(self) -> Offset:
        """The high watermark in the durable checkpoint."""
        name = f"{DIRECTORY}/{HIGH_WATERMARK_NAME}"
        return HighWatermarkCheckpoint(self.files.after_power_cut(name), name, topic=TOPIC, partition=0).offset

    @property
    def has_producer_snapshot(self) -> bool:
        """Whether the directory has a producer snapshot."""
        return any(name.endswith(".snapshot") for name in self.files.names_in(DIRECTORY))

    def stored_state(self) -> ElectionState | None:
        """Return the durable election state; None if there is none."""
        name = f"{DIRECTORY}/{ELECTION_STATE_NAME}"
        if not self.files.is_durable(name):
            return None
        return ElectionStateFile(self.files.after_power_cut(name), name).read()

    def written_view(self) -> LogView:
        """Return the view of the written log; for a stopped machine, of its durable part."""
        end_offset = self.written.model.end_offset if self.process is not None else self.written.durable_end
        view = LogView()
        for entry in self.written.model.between(Offset(0), end_offset):
            view.append(entry.header)
        return view

    def open_by_hand(self) -> ReplicaDirectory:
        """Open the directory of a stopped machine to change its files. Call `tamper` afterwards."""
        return open_directory(
            ReplicaDirectory,
            self.files,
            self.node_id,
            self._environment.plan,
            entropy=self._dice.bytes(_ENTROPY_BYTES),
            producers=self.empty_producer_state(),
        )

    def empty_producer_state(self) -> ProducerState:
        """Return the tables of writers and transactions as at the start of the node."""
        return empty_producer_state(self._environment.plan)

    def start(self) -> None:
        """Start the node from its disk; do nothing if it runs."""
        if self.process is not None:
            return
        self.incarnation += 1
        for mark in marks_of_leftovers(self.files.names_in(DIRECTORY) if self.files.exists(DIRECTORY) else ()):
            self._mark(mark)
        self.producers = self.empty_producer_state()
        try:
            self.files.keep_in_page_cache(True)  # As in a new process.
            trusted = self._trusted_files()
            directory = self._open_directory()
        except PowerCutError:
            self._mark(Mark.POWER_CUT_WHILE_STARTING)
            self.power_failed()
            return
        except StorageError as error:
            self._start_failed(error)
            return
        if self.files.rotten_file is not None:
            self._scrub(directory, self.files.rotten_file, is_trusted=self.files.rotten_file in trusted)
            return
        if self._is_tampered_with:
            self._is_tampered_with = False
            self.written.adopt(directory.log)
        else:
            with self.files.as_it_should_be():
                self.written.reopen(directory.log)
        self.stored = directory.election_state
        self._log("starts, log end offset %s, %s", directory.log.end_offset, self.stored)
        self.process = self._make_process(directory)
        directory.watch(self.written, self._environment.committed, self._listener(self.process))
        self._environment.watch.node_started(self)
        if self.holds_flushes:
            self.process.workers.hold_flushes()
        self.process.start()

    def cut_power(self) -> None:
        """Cut the power: unflushed bytes are kept or lost at random."""
        self._log("loses power")
        self._mark(Mark.POWER_CUT)
        self._end()
        self.files.crash(self.crash_draw)
        self._environment.went_down(self)

    def kill(self) -> None:
        """Kill the process; the files keep all written bytes."""
        self._log("is killed")
        self._mark(Mark.KILLED)
        self._end()
        self.files.kill()
        self._environment.went_down(self)

    def end_faults(self) -> None:
        """Cancel all planned faults, end a stall, and remove the delays of the disk."""
        self.files.cancel_faults()
        self.files.fill(None)
        self.files.restore()
        self.planned_kill = None
        self._disk_plan = without_delays(self._disk_plan)
        if self.process is not None:
            self.process.workers.set_plan(self._disk_plan)
            self.process.plan_kill(None)
            self.process.wake()

    def hold_flushes(self) -> None:
        """Hold back all flushes, also after a restart, until `release_flushes`."""
        self.holds_flushes = True
        if self.process is not None:
            self.process.workers.hold_flushes()

    def release_flushes(self) -> None:
        """Do the flushes that were held back, and all later ones."""
        self.holds_flushes = False
        if self.process is not None:
            self.process.workers.release_flushes()

    def damage(self, name: str, position: int, bit: int) -> None:
        """Flip a bit of a file of this machine, which runs."""
        self.files.damage(name, position, bit)
        self.has_been_damaged = True

    def tamper(self, files: LossyDisk | None = None) -> None:
        """Replace the disk of a stopped machine, or accept that its files were changed."""
        assert self.process is None, f"{self} runs"
        if files is not None:
            self.files = files
            self.written = LogOnDisk(files, DIRECTORY)
        self._is_tampered_with = True
        self._environment.watch.disk_was_changed(self)

    # Called by the process and the directory

    def note_stored(self) -> None:
        """Read the durable election state after one was stored."""
        name = f"{DIRECTORY}/{ELECTION_STATE_NAME}"
        self.stored = ElectionStateFile(self.files.after_power_cut(name), name).read()
        self._environment.watch.election_state_stored(self)

    def kill_instead_of(self, effect: Effect) -> None:
        """Kill the process in place of an effect, as planned by `Process.plan_kill`."""
        self._mark(Mark.KILLED_BETWEEN_EFFECTS)
        self._environment.marks.interruptions[Interruption("killed", type(effect).__name__)] += 1
        self.kill()

    def shut_down(self) -> None:
        """Close the directory of a node that has shut down."""
        process = self.process
        assert process is not None, "only a running node shuts down"
        try:
            process.close()
        except PowerCutError:
            self.power_failed()
            return
        except StorageError as error:
            self.disk_failed(error)
            return
        if self.process is process:
            self._end()
            self._environment.went_down(self)

    def halted(self, reason: str) -> None:
        """Handle the halt of a node that could have broken an invariant by going on, or that all others refuse."""
        access = self._environment.access
        is_refused = access is not None and self.node_id in access.refused_everywhere and _NOT_AUTHORIZED in reason
        if is_refused:
            self._log("stops: %s", reason)
            self._mark(Mark.REFUSED_NODE_STOPPED)
            self._end()
            self.files.kill()
            self._environment.went_down(self)
            return
        if not self._environment.allows_halts:
            raise BrokenInvariantError("NoNodeHalts", ("GEN-12", "DIVERGE-7", "ERROR-6"), f"{self}: {reason}")
        self._end()
        self._environment.went_down(self)

    def failed(self, error: Exception) -> NoReturn:
        """Report an unexpected error: a node has to handle every fault of this world.

        Raises:
            BrokenInvariantError: always.
        """
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{self}: {type(error).__name__} at {place.filename}:{place.lineno}: {error}"
        raise BrokenInvariantError("NoUnexpectedErrors", ("ERROR-9", "LOG-17"), detail)

    # One incarnation

    def _open_directory(self) -> WatchedDirectory:
        durable_end, written_end = self.written.durable_end, self.written.model.end_offset
        size_bytes = self._log_bytes()
        directory = open_directory(
            WatchedDirectory,
            self.files,
            self.node_id,
            self._environment.plan,
            entropy=self._dice.bytes(_ENTROPY_BYTES),
            producers=self.producers,
        )
        self._mark(Mark.UNFLUSHED_LOST, directory.log.end_offset < written_end)
        self._mark(Mark.UNFLUSHED_KEPT, directory.log.end_offset > durable_end)
        self._mark(Mark.TORN_TAIL, self._log_bytes() < size_bytes)
        return directory

    def _make_process(self, directory: WatchedDirectory) -> Process:
        environment = self._environment
        plan = environment.plan
        core = core_of(
            node_config(self.node_id, plan),
            directory,
            self.producers,
            draw=self.draw,
            kind=WatchedCore,
            fetch_timeout_spread_ms=plan.timeouts.fetch_spread_ms,
            high_watermark_linger_ms=plan.timeouts.linger_ms,
        )
        timing = environment.plan.clocks
        clock = Clock(
            environment.timeline, ahead_ms=self._dice.draw(timing.ahead_ms), drift=self._dice.between(timing.drift)
        )
        return Process(
            self,
            core,
            directory,
            self.written.model.copy(),
            clock=clock,
            dice=self._dice,
            disk_plan=self._disk_plan,
            environment=environment,
        )

    def _listener(self, process: Process) -> DirectoryListener:
        watch = self._environment.watch
        return DirectoryListener(
            append_begun=lambda entries: watch.file_append_begun(self, entries),
            append_done=process.workers.release_held_back,
            election_state_stored=self.note_stored,
            flush_done=lambda: watch.log_flushed(self),
            checkpoints_written=lambda: watch.checkpoints_written(self),
            snapshot_made=lambda snapshot: watch.snapshot_made(self, snapshot),
            snapshot_checked=process.workers.snapshot_checked,
            snapshot_installed=lambda snapshot: watch.snapshot_installed(self, snapshot),
            log_cut=lambda start: watch.log_cut(self, start),
        )

    def power_failed(self) -> None:
        """Handle a power cut in place of a disk call."""
        self._mark(Mark.POWER_CUT_WHILE_WRITING, self.process is not None)
        if self.files.power_cut_at is not None:
            self._environment.marks.interruptions[Interruption("power cut", self.files.power_cut_at.name)] += 1
        self.cut_power()

    def disk_failed(self, error: StorageError) -> None:
        """Handle a disk error: the node stops. Unless the disk was only full, the machine loses its power as well,
        because the page cache may hold records that could not be flushed, and the next process would read them.
        """
        disk_error = self.files.disk_error
        if disk_error is None and isinstance(error, CorruptBatchError) and self.has_damaged_disk:
            # A truncation has met the damage. The next start finds it too.
            self._log("stops: %s", error)
            self.kill()
            return
        if disk_error is None:
            raise error
        self._log("stops: %s", error)
        self._environment.marks.interruptions[Interruption("disk error", disk_error.call.name)] += 1
        self._mark(Mark.WRITE_FAILED, disk_error.call is Call.WRITE)
        self._mark(Mark.SHORT_WRITE, disk_error.is_partly_done)
        self._mark(Mark.FLUSH_FAILED, disk_error.call is Call.FLUSH)
        if disk_error.reason == errno.ENOSPC:
            self._mark(Mark.DISK_FULL)
            self.kill()
        else:
            self.cut_power()

    def _start_failed(self, error: StorageError) -> None:
        """Handle a failed start. Valid reasons are a disk error, a full disk, and damage to flushed records."""
        if isinstance(error, DiskFullError):
            self._log("does not start yet: %s", error)
            self.files.kill()
            self._environment.went_down(self)
        elif self.files.disk_error is not None:
            self._mark(Mark.DISK_ERROR_WHILE_STARTING)
            self.disk_failed(error)
        elif self.has_damaged_disk and isinstance(error, CorruptBatchError):
            self._log("does not start: %s", error)
            self._mark(Mark.DAMAGED_LOG_REFUSED)
            self.files.kill()
            self.files.restore()
            self.files.undo_damage()
            self._environment.went_down(self)
        else:
            raise BrokenInvariantError("NodesRestart", ("LOG-13", "STATE-4"), f"{self}: {error}")

    def _trusted_files(self) -> set[str]:
        """Return the segments and snapshots that a start need not read."""
        if not self.files.exists(DIRECTORY):
            return set()
        listed, snapshots = TrustedSegments(self.files, DIRECTORY).listed, SnapshotFolder(self.files, DIRECTORY)
        segments = {f"{DIRECTORY}/{each.base_offset:020d}.log" for each in listed}
        return segments | {snapshots.name_of(each) for each in snapshots.whole()}

    def _scrub(self, directory: ReplicaDirectory, rotten_file: str, *, is_trusted: bool) -> None:
        """Find the flipped bit of a log that was opened, and restore a copy like an operator."""
        if not is_trusted:
            raise BrokenInvariantError("DamagedLogIsRefused", ("LOG-13",), f"{self} starts from a damaged log")
        scrub = Scrub(directory.log, directory.snapshots)
        while not (progress := scrub.check_piece(_PIECE_BYTES, directory.log.end_offset)).passes:
            pass
        if not any(rotten_file in damage for damage in progress.damage):
            raise BrokenInvariantError("DamageIsFound", ("LOG-26",), f"{self}: found {progress.damage}")
        self._log("is damaged: %s", *progress.damage)
        self._mark(Mark.DAMAGE_FOUND_BY_SCRUB)
        self.files.kill()
        self.files.restore()
        self._environment.went_down(self)

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        core = process.core
        is_unfinished = isinstance(core.role, Leader) and process.log.end_offset > (core.high_watermark or 0)
        self._mark(Mark.LEADER_CRASHED_WITH_UNCOMMITTED, is_unfinished)
        process.halt()

    def _log_bytes(self) -> int:
        files = self.files
        if not files.exists(DIRECTORY):
            return 0
        names = [name for name in files.names_in(DIRECTORY) if name.endswith(".log")]
        return sum(len(files.read(f"{DIRECTORY}/{name}")) for name in names)

    def _log(self, text: str, *details: object) -> None:
        self._environment.run_log.add(str(self), text, *details)

    def _mark(self, mark: Mark, is_so: bool = True) -> None:
        self._environment.marks.count(mark, is_so)
