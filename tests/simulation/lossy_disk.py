"""A machine's files: what a power cut would leave of them at this moment, and what else goes wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from raft.errors import StorageError
from raft.storage.files import folder_of
from tests.memory_files.files import Call, MemoryFiles, PowerCutError
from tests.simulation.broken import BrokenInvariantError

_CLEANING_UP = (Call.REMOVE,)
"""All that a process may still do to a disk that has refused something."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What a disk refused.

    Fields:
        call: what it was asked for.
        reason: as the system says it, like errno.EIO.
        is_partly_done: whether the first part of it was done.
    """

    call: Call
    reason: int
    is_partly_done: bool


class LossyDisk(MemoryFiles):
    """Files in memory that also tell what of them is on the disk, without cutting the power to find out.

    Attributes:
        refusal: what they refused to the process of now; None as long as they do what they are told.
        cut_instead_of: the call in whose place the power was cut; None while it is on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refusal: Refusal | None = None
        self.cut_instead_of: Call | None = None
        self._fatal_call: tuple[Call, int] | None = None
        self._rot: tuple[str, int, int] | None = None

    def has_survivor(self, name: str) -> bool:
        """Whether there would be a file of this name."""
        return name in self._files_on_disk

    def survivor(self, name: str) -> bytes:
        """What a file would hold; nothing that was not flushed is hoped for."""
        return bytes(self._files_on_disk[name].after_crash(None).data)

    def after_power_cut(self, name: str) -> MemoryFiles:
        """Return another disk with this one file, if it would be left, for those who read files."""
        files = MemoryFiles()
        if self.has_survivor(name):
            files.put(name, self.survivor(name))
        return files

    def cut_power_at(self, call: Call, *, calls_later: int = 0) -> None:
        """Turn the machine off in place of the next call of this kind, or of one that comes so many calls later."""
        self._fatal_call = call, calls_later

    def keep_power(self) -> None:
        """Take back the power cut and the refusals that were to come."""
        self._calls_until_power_cut = None
        self._fatal_call = None
        self._faults.clear()

    def kill(self) -> None:
        """See `MemoryFiles.kill`. The next process may try its luck with the disk."""
        super().kill()
        self.refusal = None
        self.cut_instead_of = None
        self._fatal_call = None

    def begin(self, call: Call, name: str, written_bytes: Callable[[int], None] | None = None) -> None:
        """See `MemoryFiles.begin`.

        Raises:
            BrokenInvariantError: the process goes on with a disk that has refused something (LOG-17): what is on it is
                unknown, and a flush that is tried again may be said to be done when it is not.
        """
        if self.refusal is not None and call not in _CLEANING_UP:
            detail = f"{call} {name}, after {self.refusal.call} was refused"
            raise BrokenInvariantError("NoDiskCallsAfterAnError", ("LOG-17",), detail)
        if self._fatal_call is not None and call is self._fatal_call[0]:
            self.cut_power_before(1 + self._fatal_call[1])
            self._fatal_call = None
        planted = self._faults.copy()
        try:
            super().begin(call, name, written_bytes)
        except PowerCutError:
            self.cut_instead_of = self.cut_instead_of or call
            raise
        except StorageError:
            (struck,) = [fault for fault in planted if all(fault is not left for left in self._faults)]
            self.refusal = Refusal(call=call, reason=struck.reason, is_partly_done=struck.written_bytes > 0)
            raise

    def copy(self) -> LossyDisk:
        """Return another disk with what a power cut would leave of this one."""
        files = LossyDisk()
        for name in sorted(self._files_on_disk):
            files.make_directory(folder_of(name))
            files.put(name, self.survivor(name))
        return files

    @property
    def is_rotten(self) -> bool:
        """Whether a bit has changed by itself."""
        return self._rot is not None

    def rot(self, name: str, position: int, bit: int) -> None:
        """Change a bit by itself."""
        self.flip_bit(name, position, bit)
        self._rot = name, position, bit

    def restore(self) -> None:
        """Change that bit back, as an operator does who has a copy."""
        if self._rot is not None:
            self.flip_bit(*self._rot)
            self._rot = None
