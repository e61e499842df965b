"""Where a read of the newest record of each key ends (READ-8).

A compacted log has, before the end of a snapshot, only records that are the newest of their keys there. So the newest
records as of an offset before that end are not all left: a read either goes on to the end of the snapshot, or has lost
records.
"""

from __future__ import annotations

from raft.types import Offset

_NO_LIMIT = Offset((1 << 63) - 1)


class ViewEnd:
    """The end of such a read.

    Args:
        offset: as of which the newest records are read; committed, and not after an open transaction.
        may_move: whether a later offset will do.

    Attributes:
        offset: the present end; it never falls.
        may_move: see above.
    """

    def __init__(self, offset: Offset, *, may_move: bool) -> None:
        self.offset = offset
        self.may_move = may_move

    @property
    def log_start_limit(self) -> Offset:
        """If the log starts here or before, what was removed at its start is not missing: the read begins again."""
        return _NO_LIMIT if self.may_move else self.offset

    def first_fetch(self, log_start_offset: Offset) -> Offset:
        """Return the offset to fetch first: one record of the range at least, so that a compacted log is noticed.

        Args:
            log_start_offset: of the first record that is left.
        """
        return Offset(min(log_start_offset, max(self.offset - 1, 0)))

    def why_incomplete(self, compacted_end: Offset | None) -> str | None:
        """Move the end past compacted records if it may move.

        Args:
            compacted_end: see `raft.client.Fetched`.

        Returns:
            What is lost if the end may not move; None if nothing is.
        """
        if compacted_end is None or compacted_end <= self.offset:
            return None
        if not self.may_move:
            return (
                f"the newest records as of offset {self.offset} are not all left: "
                f"the log is compacted up to offset {compacted_end}"
            )
        self.offset = compacted_end
        return None
