"""The file `flushed-offsets`: what the log had on the disk, and what was committed of it, at its last flush.

    00000000000000001234 00000000000000001301 00000000000000001298 d86e515c
    recovery point       flushed end          high watermark       CRC-32C of what is before it

The checkpoints are written once a second, and each takes a flush of its own. This line is written after each flush of
the log, over the old one and without a flush. If the process dies, the system still writes it, so the flushed end is
exact: a damaged batch below it is no interrupted write, because this node may have acknowledged it. The high watermark
is that of the flush: what was committed afterwards is not in it until the next flush, or the next checkpoint. If the
power fails, an older line may be on the disk, which is a lower bound, as is one that a full disk did not let be
replaced.

The recovery point in it is that of the checkpoint. If the checkpoint has another one, an older version of this program
has used the directory meanwhile, or the process died between both writes; then the line does not count.

Source: rule LOG-32.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from crc32c import crc32c

from raft.errors import DiskFullError
from raft.storage.files import File, Files, folder_of
from raft.types import Offset

FLUSHED_MARK_NAME = "flushed-offsets"

_LINE = re.compile(rb"([0-9]{20}) ([0-9]{20}) ([0-9]{20}) ([0-9a-f]{8})\n")


@dataclass(frozen=True, slots=True)
class FlushedOffsets:
    """What a mark says.

    Fields:
        recovery_point: the offset in the checkpoint of that name when the mark was written.
        end: everything below was flushed.
        committed: everything below was committed and flushed; no higher than `end`.
    """

    recovery_point: Offset
    end: Offset
    committed: Offset

    def encode(self) -> bytes:
        """Return the content of the file; it always has the same size."""
        line = b"%020d %020d %020d" % (self.recovery_point, self.end, self.committed)
        return b"%s %08x\n" % (line, crc32c(line))

    @classmethod
    def decode(cls, content: bytes) -> FlushedOffsets | None:
        """Return what a file says; None if its checksum or form is wrong."""
        match = _LINE.fullmatch(content)
        if match is None or crc32c(content[: match.end(3)]) != int(match[4], 16):
            return None
        return cls(*(Offset(int(match[group])) for group in (1, 2, 3)))


class FlushedMark:
    """The mark of one log.

    Args:
        files: where the file is.
        name: the file.
    """

    def __init__(self, files: Files, name: str) -> None:
        self._files = files
        self._name = name
        self._file: File | None = None
        self.offsets = FlushedOffsets.decode(files.read(name)) if files.exists(name) else None
        """What the file says; None if there is no file, or none that is sound."""

    def write(self, offsets: FlushedOffsets) -> None:
        """Write what is flushed, for a process that dies; a disk without room leaves the mark as it is.

        Raises:
            StorageError: the disk returned an error.
        """
        # Without room the old line stays: it is a lower bound still.
        with suppress(DiskFullError):
            self._overwrite(offsets)

    def lower(self, offsets: FlushedOffsets) -> None:
        """Write lower offsets, and return when they are on the disk: what follows may remove records above them.

        Raises:
            StorageError: the disk returned an error.
        """
        self._overwrite(offsets).flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _overwrite(self, offsets: FlushedOffsets) -> File:
        """Write offsets over the old ones, and return the file."""
        content = offsets.encode()
        if self._file is None:
            self._file = self._open(content)
        self._file.overwrite(0, content)
        self.offsets = offsets
        return self._file

    def _open(self, content: bytes) -> File:
        """Open the file; one that does not have the size of a mark is replaced."""
        if self._files.exists(self._name):
            file = self._files.open(self._name)
            if file.size_bytes == len(content):
                return file
            file.close()
        file = self._files.create(self._name)
        file.append(content)
        file.flush()
        self._files.sync_directory(folder_of(self._name))
        return file
