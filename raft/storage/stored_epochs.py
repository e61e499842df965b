"""The epochs of an open log, in memory and in the file `leader-epoch-checkpoint`.

Source: rules LOG-10, LOG-27.
"""

from __future__ import annotations

import logging

from raft.epoch_cache import EpochCache
from raft.errors import DiskFullError
from raft.storage.epoch_checkpoint import EPOCH_CHECKPOINT_NAME, write_epochs
from raft.storage.files import Files, join

_logger = logging.getLogger(__name__)


class StoredEpochs:
    """The epochs of one log.

    Args:
        files: where the file is.
        directory: the partition's folder.
        cache: the epochs when the log was opened.
        is_late: whether the file lacks some of them, because the disk had no room.

    Attributes:
        cache: the epochs of the log, which may be ahead of the file.
    """

    def __init__(self, files: Files, directory: str, cache: EpochCache, *, is_late: bool) -> None:
        self.cache = cache
        self._files = files
        self._name = join(directory, EPOCH_CHECKPOINT_NAME)
        self._on_disk = cache
        self._is_late = is_late

    def store(self, epochs: EpochCache) -> None:
        """Return when the file has these epochs.

        Raises:
            DiskFullError: the disk has no room; the call may be repeated.
        """
        write_epochs(self._files, self._name, epochs.entries)
        self._on_disk = epochs
        self._is_late = False

    def store_if_new(self, epochs: EpochCache) -> None:
        """Store the epochs if the file has others; without room, leave that to `store_late`: the batches have them."""
        if epochs is self._on_disk:
            return
        try:
            self.store(epochs)
        except DiskFullError as error:
            if not self._is_late:
                _logger.warning("%s; the epochs are written when there is room", error)
            self._is_late = True

    def store_late(self) -> None:
        """Store the epochs for which the disk had no room before; see `store`."""
        if self._is_late:
            self.store(self.cache)
