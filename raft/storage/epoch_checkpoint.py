"""The file `leader-epoch-checkpoint`: the entries of the epoch cache (`raft.epoch_cache`).

The log has the same epochs in its batches and writes the file again when it is opened, so the file may lag behind it.

Source: rules LOG-10 to LOG-13; Kafka LeaderEpochCheckpointFile.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from raft.errors import DiskFullError, StorageError
from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files
from raft.types import Epoch, EpochStart, Offset

EPOCH_CHECKPOINT_NAME = "leader-epoch-checkpoint"

_logger = logging.getLogger(__name__)


def write_epochs(files: Files, name: str, entries: Sequence[EpochStart]) -> None:
    """Return when the file holds these entries on the disk."""
    write_checkpoint(files, name, [(entry.epoch, entry.start_offset) for entry in entries])


def read_epochs(files: Files, name: str) -> tuple[EpochStart, ...]:
    """Return the entries of the file; none when there is no file.

    Raises:
        StorageError: it is malformed, or its numbers do not rise.
    """
    epochs: list[EpochStart] = []
    for epoch_word, offset_word in read_checkpoint(files, name, words=2):
        entry = EpochStart(
            epoch=Epoch(parse_number(files, name, epoch_word)),
            start_offset=Offset(parse_number(files, name, offset_word)),
        )
        if epochs and not (entry.epoch > epochs[-1].epoch and entry.start_offset > epochs[-1].start_offset):
            raise StorageError(f"{files.path_of(name)}: epoch {entry.epoch} after {epochs[-1].epoch} does not rise")
        epochs.append(entry)
    return tuple(epochs)


def mend_epochs(files: Files, name: str, epochs: tuple[EpochStart, ...]) -> bool:
    """Write the file again if it cannot be read, or does not have the epochs of the batches of the log.

    Returns:
        Whether it has them; False if the disk had no room.
    """
    try:
        is_right = read_epochs(files, name) == epochs
    except StorageError as error:
        _logger.warning("%s; the file is written again from the batches of the log", error)
        is_right = False
    if is_right:
        return True
    try:
        write_epochs(files, name, epochs)
    except DiskFullError as error:
        _logger.warning("%s; the epochs are written when there is room", error)
        return False
    return True
