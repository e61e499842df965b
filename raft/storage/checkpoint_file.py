"""The text form that Kafka gives its checkpoints: a version, a count, then one entry a line, words between blanks.

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
    """Return when the file holds these entries on the disk, whole or not at all."""
    lines = [_VERSION, str(len(entries)), *(" ".join(map(str, entry)) for entry in entries)]
    replace_file(files, name, "".join(f"{line}\n" for line in lines).encode())


def read_checkpoint(files: Files, name: str, *, words: int) -> list[list[str]]:
    """Return the entries of a checkpoint, each as its words.

    Args:
        files: where the file lies.
        name: the file; none, or an empty one as Kafka makes it beforehand, has no entries.
        words: how many an entry has.

    Raises:
        StorageError: another version, another count than announced, or a line of another form.
    """
    if not files.exists(name):
        return []
    lines = files.read(name).decode(errors="replace").splitlines()
    if not lines:
        return []
    if lines[0] != _VERSION:
        raise StorageError(f"{files.path_of(name)}: version {lines[0]!r} is not {_VERSION}, the only one known")
    entries = [line.split() for line in lines[2:]]
    if len(lines) < 2 or lines[1] != str(len(entries)):
        announced = lines[1] if len(lines) > 1 else "nothing"
        raise StorageError(f"{files.path_of(name)}: {announced} announced, {len(entries)} entries found")
    for line, entry in zip(lines[2:], entries, strict=True):
        if len(entry) != words:
            raise StorageError(f"{files.path_of(name)}: malformed line {line!r}")
    return entries


_LONGEST_NUMBER = 19
"""Digits of the largest int64."""


def parse_number(files: Files, name: str, word: str) -> int:
    """Return a whole number, 0 or more, of a checkpoint.

    Raises:
        StorageError: it is none.
    """
    # Not int(): that would also take signs, underscores and digits of other scripts.
    if not (word.isascii() and word.isdigit() and len(word) <= _LONGEST_NUMBER):
        raise StorageError(f"{files.path_of(name)}: {word!r} is no number")
    return int(word)
