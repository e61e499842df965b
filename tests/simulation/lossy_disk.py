"""The disk of a machine: files in memory, with power cuts, disk errors and bit rot."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from raft.errors import DiskFullError, StorageError
from raft.storage.files import folder_of, lacks_room
from tests.memory_files.cached_bytes import CachedBytes
from tests.memory_files.files import Call, MemoryFiles, PowerCutError
from tests.simulation.broken import BrokenInvariantError

_CLEANING_UP = (Call.REMOVE,)
"""The calls that a process may still make after a disk error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskError:
    """A failed call of a disk.

    Fields:
        call: the kind of call.
        reason: the error number, such as errno.EIO.
        is_partly_done: whether some of the bytes were written.
    """

    call: Call
    reason: int
    is_partly_done: bool


class LossyDisk(MemoryFiles):
    """Files in memory that also show which of their bytes are durable.

    Attributes:
        disk_error: the first failed call of the present process; None if no call failed.
        power_cut_at: the call in place of which the power was cut; None while it is on.
        late_names: the small files for whose new content there was no room at the last attempt.
    """

    def __init__(self) -> None:
        super().__init__()
        self.disk_error: DiskError | None = None
        self.power_cut_at: Call | None = None
        self.late_names: set[str] = set()
        self._fatal_call: tuple[Call, str, int] | None = None
        self._rot: tuple[str, int, int] | None = None
        self._damage: tuple[str, int, int] | None = None

    def is_durable(self, name: str) -> bool:
        """Whether a file of this name would exist after a power cut."""
        return name in self._files_on_disk

    def durable_bytes(self, name: str) -> bytes:
        """Return the bytes of a file that are certain to survive a power cut."""
        return bytes(self._files_on_disk[name].after_crash(None).data)

    def after_power_cut(self, name: str) -> MemoryFiles:
        """Return another disk with this one file as after a power cut, or without it."""
        files = MemoryFiles()
        if self.is_durable(name):
            files.put(name, self.durable_bytes(name))
        return files

    def cut_power_at(self, call: Call, *, suffix: str = "", calls_later: int = 0) -> None:
        """Cut the power in place of a call.

        Args:
            call: the next call of this kind is counted from.
            suffix: how the name of its file ends.
            calls_later: how many calls of any kind come in between.
        """
        self._fatal_call = call, suffix, calls_later

    def cancel_faults(self) -> None:
        """Cancel planned power cuts and disk errors."""
        self._calls_until_power_cut = None
        self._fatal_call = None
        self._faults.clear()

    def kill(self) -> None:
        """See `MemoryFiles.kill`. The next process may use the disk again."""
        super().kill()
        self.disk_error = None
        self.power_cut_at = None
        self._fatal_call = None

    def begin(self, call: Call, name: str, written_bytes: Callable[[int], None] | None = None) -> None:
        """See `MemoryFiles.begin`.

        Raises:
            BrokenInvariantError: the process uses the disk after an error (LOG-17). It does not know which bytes are on
                the disk, and a flush that is tried again may succeed without writing them.
        """
        if self.disk_error is not None and call not in _CLEANING_UP:
            detail = f"{call} {name}, after {self.disk_error.call} failed"
            raise BrokenInvariantError("NoDiskCallsAfterAnError", ("LOG-17",), detail)
        if self._fatal_call is not None and call is self._fatal_call[0] and name.endswith(self._fatal_call[1]):
            self.cut_power_before(1 + self._fatal_call[2])
            self._fatal_call = None
        planted = self._faults.copy()
        try:
            super().begin(call, name, written_bytes)
        except PowerCutError:
            self.power_cut_at = self.power_cut_at or call
            raise
        except StorageError as error:
            if isinstance(error, DiskFullError) or (lacks_room(error) and name.endswith(".tmp")):
                # Nothing was lost: a part that was written is removed, and the rest may be written later.
                self._lack_room(name)
                raise
            (struck,) = [fault for fault in planted if all(fault is not left for left in self._faults)]
            self.disk_error = DiskError(call=call, reason=struck.reason, is_partly_done=struck.written_bytes > 0)
            raise

    def limit_write(self, name: str, content: CachedBytes, data: bytes) -> None:
        """See `MemoryFiles.limit_write`."""
        try:
            super().limit_write(name, content, data)
        except DiskFullError:
            self._lack_room(name)
            raise

    def rename(self, source: str, target: str) -> None:
        """See `MemoryFiles.rename`."""
        super().rename(source, target)
        self.late_names.discard(target)

    def _lack_room(self, name: str) -> None:
        if name.endswith(".tmp"):
            self.late_names.add(name.removesuffix(".tmp"))

    def copy(self) -> LossyDisk:
        """Return another disk with the durable bytes of this one."""
        files = LossyDisk()
        for name in sorted(self._files_on_disk):
            files.make_directory(folder_of(name))
            files.put(name, self.durable_bytes(name))
        return files

    @property
    def is_rotten(self) -> bool:
        """Whether a bit was flipped and not restored."""
        return self._rot is not None

    @property
    def rotten_file(self) -> str | None:
        """The file in which a bit was flipped and not restored."""
        return None if self._rot is None else self._rot[0]

    @property
    def damaged_file(self) -> str | None:
        """The file with a byte that was changed while the machine ran; None once it is right again, or is gone."""
        if self._damage is None:
            return None
        name, position, right = self._damage
        content = self._files.get(name)
        is_wrong = content is not None and len(content.data) > position and content.data[position] != right
        return name if is_wrong else None

    def damage(self, name: str, position: int, bit: int) -> None:
        """Flip a bit of a file while the machine runs. The node has to repair it by itself."""
        self._damage = name, position, self._content(name).data[position]
        self.flip_bit(name, position, bit)

    def undo_damage(self) -> None:
        """Correct that byte, like an operator who restores a copy."""
        name = self.damaged_file
        if self._damage is not None and name is not None:
            self._files[name].data[self._damage[1]] = self._damage[2]
        self._damage = None

    @contextmanager
    def as_it_should_be(self) -> Iterator[None]:
        """Show the right byte within the `with` block."""
        name, damage = self.damaged_file, self._damage
        if name is None or damage is None:
            yield
            return
        content = self._files[name].data
        wrong, content[damage[1]] = content[damage[1]], damage[2]
        yield
        content[damage[1]] = wrong

    def rot(self, name: str, position: int, bit: int) -> None:
        """Flip a bit of a file."""
        self.flip_bit(name, position, bit)
        self._rot = name, position, bit

    def restore(self) -> None:
        """Flip that bit back, like an operator who restores a copy."""
        if self._rot is not None:
            self.flip_bit(*self._rot)
            self._rot = None
