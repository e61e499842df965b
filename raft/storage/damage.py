"""The damage of a log that is known: which bytes of which file, and which offsets they hold (LOG-29)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from raft.types import Damaged, DamagedRange, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedPart:
    """A part of a file that is damaged.

    Fields:
        path: of the file.
        kind: what the file holds.
        start_offset, end_offset: of the records that cannot be read.
        position, end_position: of the damaged bytes in the file.
        reason: what is wrong; names file and byte.
    """

    path: str
    kind: Damaged
    start_offset: Offset
    end_offset: Offset
    position: int
    end_position: int
    reason: str = field(compare=False)

    @property
    def size_bytes(self) -> int:
        """How many bytes are damaged."""
        return self.end_position - self.position

    @property
    def range(self) -> DamagedRange:
        """The offsets."""
        return DamagedRange(kind=self.kind, start_offset=self.start_offset, end_offset=self.end_offset)


@dataclass(frozen=True, slots=True, kw_only=True)
class DamageReport:
    """What is damaged now, and what was repaired since the start.

    Fields:
        parts: all damage that is known, in the order of the offsets.
        repaired_ranges: how many ranges were repaired.
        repaired_bytes: how many bytes.
    """

    parts: tuple[DamagedPart, ...] = ()
    repaired_ranges: int = 0
    repaired_bytes: int = 0


class KnownDamage:
    """The damaged parts of the files of one log. The thread that does the jobs of its disk uses it."""

    def __init__(self) -> None:
        self._repaired_ranges = 0
        self._repaired_bytes = 0
        self._parts: tuple[DamagedPart, ...] = ()

    @property
    def parts(self) -> tuple[DamagedPart, ...]:
        """All of them, in the order of their offsets. Each change makes another tuple."""
        return self._parts

    @property
    def report(self) -> DamageReport:
        """What is damaged now, and what was repaired."""
        return DamageReport(
            parts=self._parts, repaired_ranges=self._repaired_ranges, repaired_bytes=self._repaired_bytes
        )

    def of_file(self, path: str | None) -> tuple[DamagedPart, ...]:
        """Return the parts of one file."""
        return tuple(part for part in self._parts if part.path == path)

    def add(self, part: DamagedPart) -> None:
        """Add a part that was found. What is known of the same bytes is replaced."""
        if part not in self._parts:
            self._set([*(each for each in self._parts if not _overlap(each, part)), part])

    def discard(self, parts: Collection[DamagedPart]) -> None:
        """Forget parts that are sound, or whose files are gone."""
        if any(part in parts for part in self._parts):
            self._set([part for part in self._parts if part not in parts])

    def batches_from(self, offset: Offset) -> DamagedPart | None:
        """Return the damaged batches that begin at an offset; None if there are none."""
        batches = (part for part in self._parts if part.kind is Damaged.BATCHES)
        return next((part for part in batches if part.start_offset == offset), None)

    def first_behind(self, offset: Offset, path: str | None) -> DamagedPart | None:
        """Return the first damaged part of a file that ends after an offset."""
        return next((part for part in self.of_file(path) if part.end_offset > offset), None)

    def repaired(self, part: DamagedPart, *, end_offset: Offset, size_bytes: int) -> None:
        """Note that the first batches of a part, or all, are sound now.

        Args:
            part: the part.
            end_offset: of these batches.
            size_bytes: their size.
        """
        self._repaired_bytes += size_bytes
        self.discard([part])
        if end_offset < part.end_offset:
            self.add(replace(part, start_offset=end_offset, position=part.position + size_bytes))
        else:
            self._repaired_ranges += 1

    def truncate(self, end_offset: Offset) -> None:
        """Forget what a truncation of the log has removed."""
        self.discard([part for part in self._parts if part.start_offset >= end_offset])

    def delete_before(self, start_offset: Offset) -> None:
        """Forget what was removed before the new start of the log. Its snapshot stays, with what is damaged of it."""
        self.discard(
            [part for part in self._parts if part.end_offset <= start_offset and not _is_at(part, start_offset)]
        )

    def forget_snapshots_but(self, paths: Collection[str]) -> None:
        """Forget the damage of all snapshots but these."""
        self.discard([part for part in self._parts if part.kind is Damaged.SNAPSHOT and part.path not in paths])

    def clear(self) -> None:
        """Forget everything: a snapshot has replaced the log."""
        self._set([])

    def _set(self, parts: list[DamagedPart]) -> None:
        self._parts = tuple(sorted(parts, key=lambda part: (part.start_offset, part.path)))


def _overlap(one: DamagedPart, other: DamagedPart) -> bool:
    return one.path == other.path and one.position < other.end_position and other.position < one.end_position


def _is_at(part: DamagedPart, start_offset: Offset) -> bool:
    return part.kind is Damaged.SNAPSHOT and part.end_offset == start_offset
