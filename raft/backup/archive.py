"""A backup as a tar archive. Files are written and read in pieces, because they do not fit into memory."""

from __future__ import annotations

import io
import os
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Self

from raft.backup.manifest import LARGEST_MANIFEST_BYTES, MANIFEST_NAME, Manifest, Member
from raft.errors import DecodeError, StorageError
from raft.storage.disk import PRIVATE_FILE

PIECE_BYTES = 1 << 20

_LARGEST_USTAR_BYTES = 8 << 30


class ArchiveWriter:
    """Writes an archive to a new file, which replaces one of the same name.

    The header of a member stands before its content, and is written when the size is known.

    Args:
        path: the file.

    Raises:
        StorageError: the disk returned an error; so do all methods.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._members: list[Member] = []
        self._name: str | None = None
        self._header_at = 0
        self._size = 0
        self._digest = sha256()
        with refusals("write", path):
            path.unlink(missing_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._file: io.BufferedRandom = os.fdopen(os.open(path, flags, PRIVATE_FILE), "w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After an error of the disk, the rest of the buffer cannot be written either.
        try:
            with refusals("close", self._path):
                self._file.close()
        except StorageError:
            if error is None:
                raise

    @property
    def members(self) -> tuple[Member, ...]:
        """The members that are complete."""
        return tuple(self._members)

    @property
    def member_bytes(self) -> int:
        """Bytes in the present member."""
        return self._size

    def begin(self, name: str) -> None:
        """Begin a member."""
        assert self._name is None, f"member {self._name} is not complete"
        self._name, self._size, self._digest = name, 0, sha256()
        with refusals("write", self._path):
            self._header_at = self._file.tell()
            self._file.write(bytes(tarfile.BLOCKSIZE))

    def write(self, piece: bytes) -> None:
        """Add bytes to the present member."""
        self._digest.update(piece)
        self._size += len(piece)
        with refusals("write", self._path):
            self._file.write(piece)

    def end(self) -> None:
        """Complete the present member."""
        assert self._name is not None, "no member was begun"
        info = tarfile.TarInfo(self._name)
        info.size, info.mode, info.mtime = self._size, PRIVATE_FILE, int(time.time())
        # A larger size does not fit into the field of that format.
        is_ustar = self._size < _LARGEST_USTAR_BYTES
        header = info.tobuf(tarfile.USTAR_FORMAT) if is_ustar else info.tobuf(tarfile.GNU_FORMAT)
        assert len(header) == tarfile.BLOCKSIZE, "a short name and a size take one block"
        with refusals("write", self._path):
            self._file.write(bytes(-self._size % tarfile.BLOCKSIZE))
            self._file.seek(self._header_at)
            self._file.write(header)
            self._file.seek(0, os.SEEK_END)
        if self._name != MANIFEST_NAME:
            self._members.append(Member(name=self._name, size=self._size, sha256=self._digest.hexdigest()))
        self._name = None

    def finish(self, manifest: Manifest) -> None:
        """Write the manifest and the end of the archive, and return when the file is on the disk."""
        self.begin(MANIFEST_NAME)
        self.write(manifest.to_bytes())
        self.end()
        with refusals("flush", self._path):
            self._file.write(bytes(2 * tarfile.BLOCKSIZE))
            self._file.flush()
            os.fsync(self._file.fileno())


class ArchiveReader:
    """Reads the members of an archive in order.

    Args:
        path: the file.

    Raises:
        StorageError: it cannot be read, or is no tar archive.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with refusals("read", path):
            self._tar = tarfile.open(path, "r:")  # noqa: SIM115 - `close` closes it

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tar.close()

    def members(self) -> Iterator[tuple[str, int, Iterator[bytes]]]:
        """Yield name, size and pieces of each member but the manifest; the pieces are read before the next member.

        Raises:
            StorageError: while iterating; the archive is damaged or incomplete.
        """
        for info in self._infos():
            if info.name != MANIFEST_NAME:
                yield info.name, info.size, self._pieces(info)

    def manifest(self) -> Manifest:
        """Return the manifest, which is the last member.

        Raises:
            StorageError: it is missing or damaged.
        """
        last = None
        for info in self._infos():
            last = info
        if last is None or last.name != MANIFEST_NAME:
            raise StorageError(
                f"{self._path} is incomplete or damaged at byte {self._tar.offset}: "
                f"expected another member there, and {MANIFEST_NAME} as the last one"
            )
        if last.size > LARGEST_MANIFEST_BYTES:
            raise StorageError(f"{self._path}: {MANIFEST_NAME} of {last.size} bytes is too large")
        try:
            return Manifest.from_bytes(b"".join(self._pieces(last)))
        except DecodeError as error:
            at = f"byte {last.offset_data} of the file"
            raise StorageError(f"{self._path}: member {MANIFEST_NAME}, at {at}, is damaged: {error}") from error

    def _infos(self) -> Iterator[tarfile.TarInfo]:
        with refusals("read", self._path):
            for info in self._tar:
                # A sparse file of a few bytes may announce terabytes of zeros.
                if not info.isreg() or info.issparse():
                    raise StorageError(f"{self._path}: member {info.name} is no plain file, so this is no backup")
                yield info

    def _pieces(self, info: tarfile.TarInfo) -> Iterator[bytes]:
        with refusals("read", self._path):
            content = self._tar.extractfile(info)
            assert content is not None, "it is a plain file"
            left = info.size
            while left:
                piece = content.read(min(PIECE_BYTES, left))
                if not piece:
                    raise StorageError(f"{self._path} ends within member {info.name}: {left} bytes are missing")
                left -= len(piece)
                yield piece


@contextmanager
def refusals(call: str, path: Path) -> Iterator[None]:
    """Turn errors of the system and of tarfile into a StorageError that names the file.

    Args:
        call: what is tried, in words.
        path: the file.
    """
    try:
        yield
    except OSError as error:
        raise StorageError(f"cannot {call} {path}: {error.strerror or error}") from error
    except tarfile.TarError as error:
        raise StorageError(f"{path} is no backup, or it is damaged or incomplete: {error}") from error
