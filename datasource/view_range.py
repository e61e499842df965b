"""The plan of a read with `view=latest`: each task reads the whole log, and keeps its share of the keys.

So no rows are shuffled, and the rows of one key are seen by one task in the order of the log.
"""

from __future__ import annotations

from dataclasses import dataclass

from datasource.options import ReadOptions
from datasource.read_plan import resolve_end
from raft.client import Client
from raft.types import Epoch, Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRange:
    """What one task reads.

    Fields:
        end_offset: as of which the newest rows are read; None for the end of the log when the task runs.
        may_move: whether a later end will do, where the log was compacted past this one.
        share, shares: which keys the task keeps; see `datasource.columns.NewestRows`.
        cluster_id, epoch: see `datasource.read_plan.LogRange`.
    """

    end_offset: Offset | None
    may_move: bool
    share: int
    shares: int
    cluster_id: str
    epoch: Epoch


def view_ranges(client: Client, options: ReadOptions) -> list[ViewRange]:
    """Plan the tasks, `minPartitions` of them.

    Args:
        client: of the quorum.
        options: of the read.

    Raises:
        ConfigError: `endingOffsets` is after the end of the log.
        QuorumUnavailableError: no leader responded in time.
    """
    shares = options.min_partitions or 1
    committed = client.last_stable_offset()
    end = resolve_end(client, options)
    may_move = end is None
    if shares > 1:
        # The shares of several tasks are of one moment.
        end = committed if end is None else end
    return [
        ViewRange(
            end_offset=end,
            may_move=may_move,
            share=share,
            shares=shares,
            cluster_id=client.cluster_id or "",
            epoch=client.epoch,
        )
        for share in range(shares)
    ]
