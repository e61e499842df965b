"""The position of a kraft source in its log, from the offsets in the progress of a query."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pyspark.sql.streaming.listener import SourceProgress, StreamingQueryProgress

from datasource.offsets import Reached, read_offset
from raft.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePosition:
    """How far a query has read the log of one source.

    Fields:
        source: number of the source in the query, from 0.
        cluster_id: of the quorum.
        start_offset, end_offset: of the batch, half-open; the start is None for the first batch of a query.
        latest_offset: the end of the log when the batch was planned; None if it is unknown.
        epoch: the highest leader epoch in these offsets.
        input_rows: rows that the batch read.
        input_rows_per_second, processed_rows_per_second: as Spark computes them.
    """

    source: int
    cluster_id: str
    start_offset: int | None
    end_offset: int
    latest_offset: int | None
    epoch: int
    input_rows: int
    input_rows_per_second: float
    processed_rows_per_second: float

    @property
    def lag_offsets(self) -> int | None:
        """Offsets between the end of the batch and the end of the log; None if that end is unknown."""
        return None if self.latest_offset is None else max(self.latest_offset - self.end_offset, 0)


def kraft_positions(progress: StreamingQueryProgress) -> list[SourcePosition]:
    """Return the positions of the kraft sources of a query; other sources are left out.

    A source is recognized by its offsets, because Spark describes all sources in Python by the same words.
    """
    positions = (_position(number, source) for number, source in enumerate(progress.sources))
    return [position for position in positions if position is not None]


def _position(number: int, source: SourceProgress) -> SourcePosition | None:
    end = _reached(source.endOffset)
    if end is None:
        return None
    start, latest = _reached(source.startOffset), _reached(source.latestOffset)
    if latest is not None and latest.cluster_id != end.cluster_id:
        latest = None
    return SourcePosition(
        source=number,
        cluster_id=end.cluster_id,
        start_offset=_first_offset(start, end),
        end_offset=end.point.offset,
        latest_offset=None if latest is None else latest.point.offset,
        epoch=max(end.point.epoch, 0 if latest is None else latest.point.epoch),
        input_rows=source.numInputRows,
        input_rows_per_second=source.inputRowsPerSecond,
        processed_rows_per_second=source.processedRowsPerSecond,
    )


def _first_offset(start: Reached | None, end: Reached) -> int | None:
    """Return the first offset of a batch: its own start if it has one, else the end of the batch before."""
    if end.origin is not None:
        return end.origin.offset
    return None if start is None else start.point.offset


def _reached(text: str) -> Reached | None:
    """Read an offset of the kraft source; return None for another one, and for the words None and null of no offset."""
    try:
        offset = json.loads(text)
        found = read_offset(offset) if isinstance(offset, dict) else None
    except (ValueError, ConfigError):
        return None
    return found if isinstance(found, Reached) else None
