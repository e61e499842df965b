"""Kafka's text format of checkpoint files: a version, the number of entries, then one entry a line.

    0
    2
    1 0
    3 117

Source: rule LOG-11; Kafka CheckpointFile.
"""

from __future__ import annotations

from collections.abc import Sequence

from raft.errors import StorageError
from raft.storage.atomic_file import replace_file
from raft.storage.files import Files

_VERSION = "0"


def write_checkpoint(files: Files, name: str, entries: Sequence[Sequence[object]]) -> None:
    """Replace the entries of a checkpoint, and return when they are on the disk.

    Args:
        files: where the file is.
        name: the file.
        entries: each a sequence of words, which are written with blanks between them.

    Raises:
        StorageError: the disk returned an error; the file has its old entries or the new ones.
    """
    lines = [_VERSION, str(len(entries)), *(" ".join(map(str, entry)) for entry in entries)]
    replace_file(files, name, "".join(f"{line}\n" for line in lines).encode())


def read_checkpoint(files: Files, name: str, *, words: int) -> list[list[str]]:
    """Return the entries of a checkpoint, each as a list of words.

    Args:
        files: where the file is.
        name: the file; a file that does not exist or is empty, as Kafka creates it, has no entries.
        words: how many words an entry has.

    Raises:
        StorageError: the version or the number of entries is wrong, or a line is malformed.
    """
    if not files.exists(name):
        return []
    lines = files.read(name).decode(errors="replace").splitlines()
    if not lines:
        return []
    if lines[0] != _VERSION:
        raise StorageError(f"{files.path_of(name)}: version {lines[0]!r}, expected {_VERSION}")
    entries = [line.split() for line in lines[2:]]
    count = lines[1] if len(lines) > 1 else None
    if count != str(len(entries)):
        raise StorageError(f"{files.path_of(name)}: {len(entries)} entries, but the second line says {count}")
    for line, entry in zip(lines[2:], entries, strict=True):
        if len(entry) != words:
            raise StorageError(f"{files.path_of(name)}: line {line!r} has {len(entry)} words, expected {words}")
    return entries


_LONGEST_NUMBER = 19
"""Number of digits of the largest int64."""


def parse_number(files: Files, name: str, word: str) -> int:
    """Return a word of a checkpoint as a number of 0 or more.

    Args:
        files: where the file is, for the message.
        name: the file, for the message.
        word: the word.

    Raises:
        StorageError: the word is not such a number.
    """
    # int() alone would accept signs, underscores and digits of other scripts.
    if not (word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER):
        raise StorageError(f"{files.path_of(name)}: {word!r} is not a number")
    return int(word)
