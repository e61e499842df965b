"""The file `leader-epoch-checkpoint`: at which offset each leader epoch begins. Epochs and offsets both rise.

The log knows the same from its batches and rebuilds the file when it is opened, so the file may lag behind the log.

Source: rules LOG-10 to LOG-13; Kafka LeaderEpochCheckpointFile, LeaderEpochFileCache.
"""

from __future__ import annotations

from raft.errors import StorageError
from raft.storage.checkpoint_file import parse_number, read_checkpoint, write_checkpoint
from raft.storage.files import Files
from raft.types import Epoch, EpochStart, Offset

EPOCH_CHECKPOINT_NAME = "leader-epoch-checkpoint"

EpochStarts = tuple[EpochStart, ...]


def with_epoch_start(epochs: EpochStarts, epoch: Epoch, start_offset: Offset) -> EpochStarts:
    """Return the epochs with one more, which takes the place of those it contradicts (LOG-12)."""
    kept = tuple(entry for entry in epochs if entry.epoch < epoch and entry.start_offset < start_offset)
    return (*kept, EpochStart(epoch=epoch, start_offset=start_offset))


def cut_epochs(epochs: EpochStarts, end_offset: Offset) -> EpochStarts:
    """Return the epochs of a log that ends at `end_offset`: those that begin there or later are gone (DIVERGE-6)."""
    return tuple(entry for entry in epochs if entry.start_offset < end_offset)


def write_epochs(files: Files, name: str, epochs: EpochStarts) -> None:
    """Return when the file holds these epochs on the disk."""
    write_checkpoint(files, name, [(entry.epoch, entry.start_offset) for entry in epochs])


def read_epochs(files: Files, name: str) -> EpochStarts:
    """Return what the file says; nothing when there is none.

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
