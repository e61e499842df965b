"""The interface of the part that reads each record: which one is the newest of its key, and which ones are kept."""

from __future__ import annotations

from typing import Protocol

LARGEST_BATCH_BYTES = 64 << 10
"""Records of one epoch are written together, in batches of about this size."""


class Compactor(Protocol):
    """Finds the newest record of each key, then copies those records.

    All batches are whole batches of data records, uncompressed, in the order of their offsets.
    """

    name: str
    """For log lines and tests."""

    def note(self, batches: bytes) -> None:
        """Count the records behind the snapshot before. Each replaces the older ones of its key.

        Records without a key are left out.

        Raises:
            DecodeError: a record is malformed.
        """
        ...

    def retain(self, batches: bytes) -> bytes:
        """Take the records of these batches that are kept; return the batches that are finished.

        A record is kept if no newer one of its key was noted, and it is no tombstone whose time is over. It keeps
        offset, timestamp, headers and epoch.

        Raises:
            DecodeError: a record is malformed.
        """
        ...

    def finish(self) -> bytes:
        """Return the last batch; b"" if there is none."""
        ...
