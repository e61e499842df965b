"""How long a leader's records take from the append to the commit."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from raft.types import Offset


class CommitClock:
    """The appends of a leader that are not committed, in the order of their offsets."""

    def __init__(self) -> None:
        self._appends: deque[tuple[Offset, float]] = deque()

    def appended(self, end_offset: Offset, now_s: float) -> None:
        """Note records that were appended.

        Args:
            end_offset: they are committed when the high watermark has reached it.
            now_s: the present time, in seconds.
        """
        self._appends.append((end_offset, now_s))

    def has_below(self, high_watermark: Offset) -> bool:
        """Whether an append is committed that `committed` has not yielded yet."""
        return bool(self._appends) and self._appends[0][0] <= high_watermark

    def committed(self, high_watermark: Offset, now_s: float) -> Iterator[float]:
        """Yield how long each append took that is committed now, in seconds."""
        appends = self._appends
        while appends and appends[0][0] <= high_watermark:
            yield now_s - appends.popleft()[1]

    def reset(self) -> None:
        """Forget all appends: another leader decides whether they are committed."""
        self._appends.clear()
