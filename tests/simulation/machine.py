"""A machine: its files and what is known of them stay, the process on it comes and goes."""

from __future__ import annotations

import errno

from raft.core import RaftCore
from raft.core.effects import Effect, ShutdownFinished
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
from tests.simulation.disk_threads import DiskThreads
from tests.simulation.log_twin import LogTwin
from tests.simulation.plan import calmed
from tests.simulation.platter import Platter
from tests.simulation.process import Process
from tests.simulation.sightings import Moment, Sight
from tests.simulation.starting import DIRECTORY, TOPIC, core_config, empty_writer_table, open_directory, view_of
from tests.simulation.surroundings import Surroundings
from tests.simulation.written_log import WrittenLog

_CLOCK_AHEAD_MS = 1_000_000
_DRIFT = (-5, 5)
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
    """

    def __init__(self, node_id: NodeId, surroundings: Surroundings) -> None:
        self.node_id = node_id
        self.files = Platter()
        self.written = WrittenLog(self.files, DIRECTORY)
        self.stored = ElectionState(epoch=Epoch(0))
        self.life = 0
        self.writers = empty_writer_table(surroundings.plan)
        self.process: Process | None = None
        self._surroundings = surroundings
        self._dice = Dice(surroundings.plan.seed, f"machine {node_id}")
        self._core_dice = Dice(surroundings.plan.seed, f"core {node_id}")
        self._disk_plan = surroundings.plan.disk
        self._disk: DiskThreads | None = None
        self._is_tampered_with = False

    def __str__(self) -> str:
        return f"node {self.node_id}"

    @property
    def is_voter(self) -> bool:
        """Whether the node votes."""
        return self.node_id in self._surroundings.plan.voters

    @property
    def core(self) -> RaftCore:
        """The core that runs."""
        assert self.process is not None, f"{self} is down"
        return self.process.core

    @property
    def log(self) -> LogTwin:
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

    def empty_writer_table(self) -> WriterTable:
        """A table of writers as the node begins with."""
        return empty_writer_table(self._surroundings.plan)

    def start(self) -> None:
        """Start the node with what is on the disk; nothing happens to one that runs."""
        if self.process is not None:
            return
        self.life += 1
        self.writers = self.empty_writer_table()
        try:
            directory = self._open_directory()
        except PowerCutError:
            self._sight(Sight.POWER_CUT_WHILE_STARTING)
            self._power_failed()
            return
        except StorageError as error:
            self._refuse_to_start(error)
            return
        if self.files.is_rotten:
            raise BrokenInvariantError("DamageIsRefused", ("LOG-13",), f"{self} starts from a log that is damaged")
        if self._is_tampered_with:
            self._is_tampered_with = False
            self.written.adopt(directory.log)
        else:
            self.written.reopen(directory.log)
        self.stored = directory.election_state
        self._tell("starts, its log ends at %s, %s", directory.log.end_offset, self.stored)
        self.process = process = self._make_process(directory)
        self._disk = self._make_disk(directory, process)
        self._surroundings.watch.started(self)
        process.start(self._disk)

    def cut_power(self) -> None:
        """Cut the power: what was not flushed is there or not, as the dice say."""
        self._tell("loses power")
        self._sight(Sight.POWER_CUT)
        self._end()
        self.files.crash(self._dice.draw)
        self._surroundings.went_down(self)

    def kill(self) -> None:
        """Kill the process; the files stay as they are."""
        self._tell("is killed")
        self._sight(Sight.KILLED)
        self._end()
        self.files.kill()
        self._surroundings.went_down(self)

    def leave_in_peace(self) -> None:
        """Take back every stroke that was planned, end a stall, and have a good disk from now on."""
        self.files.keep_power()
        self.files.restore()
        self._disk_plan = calmed(self._disk_plan)
        if self.process is not None and self._disk is not None:
            self._disk.calm_down(self._disk_plan)
            self.process.plan_kill(None)
            self.process.wake()

    def tamper(self, files: Platter | None = None) -> None:
        """Let its disk be another, or not be what it was, while it is down: nobody can hold the machine to that."""
        assert self.process is None, f"{self} runs"
        if files is not None:
            self.files = files
            self.written = WrittenLog(files, DIRECTORY)
        self._is_tampered_with = True
        self._surroundings.watch.lost_memory(self)

    # What the process tells

    def note_stored(self) -> None:
        """An election state was stored: look what is on the platter now."""
        name = f"{DIRECTORY}/{ELECTION_STATE_NAME}"
        self.stored = ElectionStateFile(self.files.after_power_cut(name), name).read()

    def kill_instead_of(self, effect: Effect) -> None:
        """The moment has come that `Process.plan_kill` was told of."""
        self._sight(Sight.KILLED_BETWEEN_EFFECTS)
        self._surroundings.sightings.moments[Moment("killed", type(effect).__name__)] += 1
        self.kill()

    def leave(self, finished: ShutdownFinished) -> None:
        """The node has shut down by itself."""
        assert self._disk is not None, "only a node that runs can leave"
        self._tell("leaves, handed over: %s", finished.handed_over)
        self._sight(Sight.HANDED_OVER if finished.handed_over else Sight.SHUTDOWN_TIMED_OUT)
        try:
            self._disk.close()
        except PowerCutError:
            self._power_failed()
            return
        except StorageError as error:
            self._disk_refused(error)
            return
        self._end()
        self._surroundings.went_down(self)

    # One life

    def _open_directory(self) -> ReplicaDirectory:
        durable_end, written_end, size_bytes = self.written.durable_end, self.written.twin.end_offset, self._log_bytes()
        directory = open_directory(
            self.files,
            self.node_id,
            self._surroundings.plan,
            entropy=self._dice.bytes(_ENTROPY_BYTES),
            writers=self.writers,
        )
        self._sight(Sight.UNFLUSHED_LOST, directory.log.end_offset < written_end)
        self._sight(Sight.UNFLUSHED_SURVIVED, directory.log.end_offset > durable_end)
        self._sight(Sight.TORN_TAIL, self._log_bytes() < size_bytes)
        return directory

    def _make_process(self, directory: ReplicaDirectory) -> Process:
        surroundings = self._surroundings
        core = RaftCore(
            core_config(directory, self.node_id, surroundings.plan),
            stored=directory.election_state,
            log=view_of(directory.log),
            writers=self.writers,
            known_committed=directory.committed_offset,
            draw=self._core_dice.draw,
        )
        clock = Clock(
            surroundings.timeline, ahead_ms=self._dice.draw(_CLOCK_AHEAD_MS), drift=self._dice.between(_DRIFT)
        )
        return Process(self, core, self.written.twin.copy(), clock=clock, surroundings=surroundings)

    def _make_disk(self, directory: ReplicaDirectory, process: Process) -> DiskThreads:
        surroundings = self._surroundings
        return DiskThreads(
            directory,
            self.written,
            timeline=surroundings.timeline,
            dice=self._dice,
            plan=self._disk_plan,
            sightings=surroundings.sightings,
            wrote=lambda entries: surroundings.watch.wrote(self, entries),
            looked=lambda: surroundings.watch.flushed(self),
            checkpointed=lambda: surroundings.watch.checkpointed(self),
            flushed=process.flushed,
            rolled=process.snapshot_producers,
            power_failed=self._power_failed,
            refused=self._disk_refused,
        )

    def _power_failed(self) -> None:
        self._sight(Sight.POWER_CUT_WHILE_WRITING, self.process is not None)
        if self.files.cut_instead_of is not None:
            self._surroundings.sightings.moments[Moment("power cut", self.files.cut_instead_of.name)] += 1
        self.cut_power()

    def _disk_refused(self, error: StorageError) -> None:
        """The node stops, as it must. Before the next start the machine does too, unless its disk was only full: the
        cache of a system that could not flush may show the next process what is nowhere else.
        """
        refusal = self.files.refusal
        if refusal is None:
            raise error
        self._tell("stops: %s", error)
        self._surroundings.sightings.moments[Moment("refused", refusal.call.name)] += 1
        self._sight(Sight.WRITE_REFUSED, refusal.call is Call.WRITE)
        self._sight(Sight.WRITTEN_SHORT, refusal.is_partly_done)
        self._sight(Sight.FLUSH_REFUSED, refusal.call is Call.FLUSH)
        if refusal.reason == errno.ENOSPC:
            self._sight(Sight.DISK_FULL)
            self.kill()
        else:
            self.cut_power()

    def _refuse_to_start(self, error: StorageError) -> None:
        """A node may refuse for two reasons only: its disk did, or what it had flushed is damaged."""
        if self.files.refusal is not None:
            self._sight(Sight.START_REFUSED_BY_DISK)
            self._disk_refused(error)
        elif self.files.is_rotten and isinstance(error, CorruptBatchError):
            self._tell("does not start: %s", error)
            self._sight(Sight.DAMAGE_REFUSED)
            self.files.kill()
            self.files.restore()
            self._surroundings.went_down(self)
        else:
            raise BrokenInvariantError("NodesStartAgain", ("LOG-13", "STATE-4"), f"{self}: {error}")

    def _end(self) -> None:
        process, self.process, self._disk = self.process, None, None
        if process is None:
            return
        core = process.core
        is_unfinished = isinstance(core.role, Leader) and process.log.end_offset > (core.high_watermark or 0)
        self._sight(Sight.LEADER_CRASHED_WITH_UNCOMMITTED, is_unfinished)
        process.halt()

    def _log_bytes(self) -> int:
        files = self.files
        if not files.exists(DIRECTORY):
            return 0
        names = [name for name in files.names_in(DIRECTORY) if name.endswith(".log")]
        return sum(len(files.read(f"{DIRECTORY}/{name}")) for name in names)

    def _tell(self, text: str, *details: object) -> None:
        self._surroundings.story.tell(str(self), text, *details)

    def _sight(self, sight: Sight, is_so: bool = True) -> None:
        if is_so:
            self._surroundings.sightings.count(sight)
