"""A machine: its files and what is known of them stay, the process on it comes and goes."""

from __future__ import annotations

import errno
import traceback
from typing import NoReturn

from raft.core import RaftCore
from raft.core.config import Draw
from raft.core.effects import Effect
from raft.core.log_view import LogView
from raft.core.roles import Leader
from raft.errors import CorruptBatchError, StorageError
from raft.storage.directory import ReplicaDirectory
from raft.storage.election_state import ELECTION_STATE_NAME, ElectionStateFile
from raft.storage.high_watermark import HIGH_WATERMARK_NAME, HighWatermarkCheckpoint
from raft.storage.recovery_point import RECOVERY_POINT_NAME, RecoveryPoint
from raft.types import ElectionState, Epoch, NodeId, Offset
from raft.writers import WriterTable
from tests.memory_files.files import Call, PowerCutError
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.environment import Environment
from tests.simulation.log_model import LogModel
from tests.simulation.lossy_disk import LossyDisk
from tests.simulation.marks import Mark, Moment
from tests.simulation.plan import calmed
from tests.simulation.process import Process
from tests.simulation.starting import DIRECTORY, TOPIC, core_config, empty_writer_table, open_directory, view_of
from tests.simulation.watched import WatchedCore
from tests.simulation.watched_directory import DirectoryListener, WatchedDirectory
from tests.simulation.written_log import WrittenLog

_ENTROPY_BYTES = 16


class Machine:
    """One machine of the quorum, off at first.

    Attributes:
        node_id: the node on it.
        files: its disk.
        written: the log on that disk.
        stored: the election state that is on the disk for certain.
        life: how often it was started.
        writers: the core's table of writers.
        process: what runs on it; None while it is down.
        draw: dice of the core.
        crash_draw: dice for what a power cut leaves of what was not flushed; None for nothing.
        holds_flushes: whether no flush is done; see `hold_flushes`.
    """

    def __init__(self, node_id: NodeId, environment: Environment) -> None:
        self.node_id = node_id
        self.files = LossyDisk()
        self.written = WrittenLog(self.files, DIRECTORY)
        self.stored = ElectionState(epoch=Epoch(0))
        self.incarnation = 0
        self.writers = empty_writer_table(environment.plan)
        self.process: Process | None = None
        self._environment = environment
        self._dice = Dice(environment.plan.seed, f"machine {node_id}")
        self.crash_draw: Draw | None = self._dice.draw
        self.holds_flushes = False
        self.draw: Draw = Dice(environment.plan.seed, f"core {node_id}").draw
        self._disk_plan = environment.plan.disk
        self._is_tampered_with = False

    def __str__(self) -> str:
        return f"node {self.node_id}"

    @property
    def is_voter(self) -> bool:
        """Whether the node votes."""
        return self.node_id in self._environment.plan.voters

    @property
    def core(self) -> RaftCore:
        """The core that runs."""
        assert self.process is not None, f"{self} is down"
        return self.process.core

    @property
    def log(self) -> LogModel:
        """What the core that runs believes to be in its log."""
        assert self.process is not None, f"{self} is down"
        return self.process.log

    @property
    def is_leader(self) -> bool:
        """Whether the node leads, as it believes."""
        return self.process is not None and isinstance(self.process.core.role, Leader)

    @property
    def recovery_point(self) -> Offset:
        """Everything below is on the disk, as the disk itself says."""
        name = f"{DIRECTORY}/{RECOVERY_POINT_NAME}"
        return RecoveryPoint(self.files.after_power_cut(name), name, topic=TOPIC, partition=0).offset

    @property
    def checkpointed_high_watermark(self) -> Offset:
        """Everything below is committed, as the disk itself says."""
        name = f"{DIRECTORY}/{HIGH_WATERMARK_NAME}"
        return HighWatermarkCheckpoint(self.files.after_power_cut(name), name, topic=TOPIC, partition=0).offset

    def stored_state(self) -> ElectionState | None:
        """The election state that the disk holds; None if it holds none."""
        name = f"{DIRECTORY}/{ELECTION_STATE_NAME}"
        if not self.files.has_survivor(name):
            return None
        return ElectionStateFile(self.files.after_power_cut(name), name).read()

    def written_view(self) -> LogView:
        """The log on the disk, as a core sees it that starts; of a machine that is down, what was flushed."""
        end_offset = self.written.model.end_offset if self.process is not None else self.written.durable_end
        view = LogView()
        for entry in self.written.model.between(Offset(0), end_offset):
            view.append(entry.header)
        return view

    def open_by_hand(self) -> ReplicaDirectory:
        """Open the directory of a machine that is down, to change what is in it; `tamper` has to follow."""
        return open_directory(
            ReplicaDirectory,
            self.files,
            self.node_id,
            self._environment.plan,
            entropy=self._dice.bytes(_ENTROPY_BYTES),
            writers=self.empty_writer_table(),
        )

    def empty_writer_table(self) -> WriterTable:
        """A table of writers as the node begins with."""
        return empty_writer_table(self._environment.plan)

    def start(self) -> None:
        """Start the node with what is on the disk; nothing happens to one that runs."""
        if self.process is not None:
            return
        self.incarnation += 1
        self.writers = self.empty_writer_table()
        try:
            directory = self._open_directory()
        except PowerCutError:
            self._mark(Mark.POWER_CUT_WHILE_STARTING)
            self.power_failed()
            return
        except StorageError as error:
            self._refuse_to_start(error)
            return
        if self.files.is_rotten:
            raise BrokenInvariantError("DamagedLogIsRefused", ("LOG-13",), f"{self} starts from a log that is damaged")
        if self._is_tampered_with:
            self._is_tampered_with = False
            self.written.adopt(directory.log)
        else:
            self.written.reopen(directory.log)
        self.stored = directory.election_state
        self._tell("starts, its log ends at %s, %s", directory.log.end_offset, self.stored)
        self.process = self._make_process(directory)
        directory.watch(self.written, self._listener(self.process))
        self._environment.watch.node_started(self)
        if self.holds_flushes:
            self.process.workers.hold_flushes()
        self.process.start()

    def cut_power(self) -> None:
        """Cut the power: what was not flushed is there or not, as the dice say."""
        self._tell("loses power")
        self._mark(Mark.POWER_CUT)
        self._end()
        self.files.crash(self.crash_draw)
        self._environment.went_down(self)

    def kill(self) -> None:
        """Kill the process; the files stay as they are."""
        self._tell("is killed")
        self._mark(Mark.KILLED)
        self._end()
        self.files.kill()
        self._environment.went_down(self)

    def leave_in_peace(self) -> None:
        """Take back every stroke that was planned, end a stall, and have a good disk from now on."""
        self.files.keep_power()
        self.files.restore()
        self._disk_plan = calmed(self._disk_plan)
        if self.process is not None:
            self.process.workers.calm_down(self._disk_plan)
            self.process.plan_kill(None)
            self.process.wake()

    def hold_flushes(self) -> None:
        """Do no flush, in this life and in those to come, until told otherwise."""
        self.holds_flushes = True
        if self.process is not None:
            self.process.workers.hold_flushes()

    def release_flushes(self) -> None:
        """Do the flushes that wait, and those to come."""
        self.holds_flushes = False
        if self.process is not None:
            self.process.workers.release_flushes()

    def tamper(self, files: LossyDisk | None = None) -> None:
        """Let its disk be another, or not be what it was, while it is down: nobody can hold the machine to that."""
        assert self.process is None, f"{self} runs"
        if files is not None:
            self.files = files
            self.written = WrittenLog(files, DIRECTORY)
        self._is_tampered_with = True
        self._environment.watch.disk_was_changed(self)

    # What the process tells

    def note_stored(self) -> None:
        """An election state was stored: look what is on the disk now."""
        name = f"{DIRECTORY}/{ELECTION_STATE_NAME}"
        self.stored = ElectionStateFile(self.files.after_power_cut(name), name).read()
        self._environment.watch.election_state_stored(self)

    def kill_instead_of(self, effect: Effect) -> None:
        """The moment has come that `Process.plan_kill` was told of."""
        self._mark(Mark.KILLED_BETWEEN_EFFECTS)
        self._environment.marks.moments[Moment("killed", type(effect).__name__)] += 1
        self.kill()

    def leave(self) -> None:
        """The node has shut down by itself."""
        process = self.process
        assert process is not None, "only a node that runs can leave"
        try:
            process.close()
        except PowerCutError:
            self.power_failed()
            return
        except StorageError as error:
            self.disk_refused(error)
            return
        if self.process is process:
            self._end()
            self._environment.went_down(self)

    def halted(self, reason: str) -> None:
        """The node has stopped because going on could break a promise of the quorum."""
        if not self._environment.allows_halts:
            raise BrokenInvariantError("NoNodeHalts", ("GEN-12", "DIVERGE-7"), f"{self}: {reason}")
        self._end()
        self._environment.went_down(self)

    def broke(self, error: Exception) -> NoReturn:
        """The node has stopped because of a bug: nothing that this world does to it may be more than it can take.

        Raises:
            BrokenInvariantError: always.
        """
        place = traceback.extract_tb(error.__traceback__)[-1]
        detail = f"{self}: {type(error).__name__} at {place.filename}:{place.lineno}: {error}"
        raise BrokenInvariantError("NoUnexpectedErrors", ("ERROR-9", "LOG-17"), detail)

    # One life

    def _open_directory(self) -> WatchedDirectory:
        durable_end, written_end, size_bytes = (
            self.written.durable_end,
            self.written.model.end_offset,
            self._log_bytes(),
        )
        directory = open_directory(
            WatchedDirectory,
            self.files,
            self.node_id,
            self._environment.plan,
            entropy=self._dice.bytes(_ENTROPY_BYTES),
            writers=self.writers,
        )
        self._mark(Mark.UNFLUSHED_LOST, directory.log.end_offset < written_end)
        self._mark(Mark.UNFLUSHED_SURVIVED, directory.log.end_offset > durable_end)
        self._mark(Mark.TORN_TAIL, self._log_bytes() < size_bytes)
        return directory

    def _make_process(self, directory: WatchedDirectory) -> Process:
        environment = self._environment
        core = WatchedCore(
            core_config(directory, self.node_id, environment.plan),
            stored=directory.election_state,
            log=view_of(directory.log),
            writers=self.writers,
            known_committed=directory.committed_offset,
            draw=self.draw,
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
        )

    def power_failed(self) -> None:
        """A power cut that was planned for a call of the disk has come."""
        self._mark(Mark.POWER_CUT_WHILE_WRITING, self.process is not None)
        if self.files.cut_instead_of is not None:
            self._environment.marks.moments[Moment("power cut", self.files.cut_instead_of.name)] += 1
        self.cut_power()

    def disk_refused(self, error: StorageError) -> None:
        """The node stops, as it must. Before the next start the machine does too, unless its disk was only full: the
        cache of a system that could not flush may show the next process what is nowhere else.
        """
        refusal = self.files.refusal
        if refusal is None:
            raise error
        self._tell("stops: %s", error)
        self._environment.marks.moments[Moment("refused", refusal.call.name)] += 1
        self._mark(Mark.WRITE_REFUSED, refusal.call is Call.WRITE)
        self._mark(Mark.WRITTEN_SHORT, refusal.is_partly_done)
        self._mark(Mark.FLUSH_REFUSED, refusal.call is Call.FLUSH)
        if refusal.reason == errno.ENOSPC:
            self._mark(Mark.DISK_FULL)
            self.kill()
        else:
            self.cut_power()

    def _refuse_to_start(self, error: StorageError) -> None:
        """A node may refuse for two reasons only: its disk did, or what it had flushed is damaged."""
        if self.files.refusal is not None:
            self._mark(Mark.START_REFUSED_BY_DISK)
            self.disk_refused(error)
        elif self.files.is_rotten and isinstance(error, CorruptBatchError):
            self._tell("does not start: %s", error)
            self._mark(Mark.DAMAGE_REFUSED)
            self.files.kill()
            self.files.restore()
            self._environment.went_down(self)
        else:
            raise BrokenInvariantError("NodesRestart", ("LOG-13", "STATE-4"), f"{self}: {error}")

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

    def _tell(self, text: str, *details: object) -> None:
        self._environment.story.tell(str(self), text, *details)

    def _mark(self, mark: Mark, is_so: bool = True) -> None:
        if is_so:
            self._environment.marks.count(mark)
