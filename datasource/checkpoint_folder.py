"""The files in the checkpoint of a query: on this machine, or in a store that Arrow can open."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from urllib.parse import unquote, urlsplit


class CheckpointFolder(ABC):
    """A folder of small files. Any method raises `OSError` if the folder cannot be used from this process."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""

    @abstractmethod
    def write(self, name: str, content: bytes) -> None:
        """Replace the content of a file atomically, and return when it is stored."""


def open_folder(location: str) -> CheckpointFolder:
    """Open a checkpoint by the location that Spark was given.

    Args:
        location: a path, or a URI.

    Raises:
        OSError: this process cannot open such a location.
    """
    parts = urlsplit(location)
    if parts.scheme in ("", "file"):
        return LocalFolder(Path(unquote(parts.path) if parts.scheme else location))
    return ArrowFolder(location)


class LocalFolder(CheckpointFolder):
    """A folder on this machine."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, content: bytes) -> None:
        """Replace the content of a file atomically, and return when it is on the disk."""
        # Spark ignores names that begin with a dot, as those of Hadoop's temporary files do.
        temporary = self._path / f".{name}.{os.getpid()}.tmp"
        try:
            with temporary.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self._path / name)
        finally:
            temporary.unlink(missing_ok=True)
        folder = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class ArrowFolder(CheckpointFolder):
    """A folder in a store that `pyarrow.fs` opens, such as s3, gs, abfs or hdfs."""

    def __init__(self, location: str) -> None:
        from pyarrow import fs

        # Hadoop and Arrow have different schemes for some stores.
        for hadoops, arrows in (("s3a://", "s3://"), ("s3n://", "s3://"), ("abfss://", "abfs://")):
            location = arrows + location.removeprefix(hadoops) if location.startswith(hadoops) else location
        try:
            self._files, self._path = fs.FileSystem.from_uri(location)
        except ValueError as error:  # Arrow does not know the scheme.
            raise OSError(str(error)) from error
        self._missing = fs.FileType.NotFound

    def read(self, name: str) -> bytes | None:
        """Return the content of a file; None if it does not exist."""
        path = f"{self._path}/{name}"
        if self._files.get_file_info(path).type == self._missing:
            return None
        with self._files.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write(self, name: str, content: bytes) -> None:
        """Replace the content of a file atomically, and return when it is stored."""
        temporary = f"{self._path}/.{name}.{os.getpid()}.tmp"
        with self._files.open_output_stream(temporary) as stream:
            stream.write(content)
        self._files.move(temporary, f"{self._path}/{name}")
