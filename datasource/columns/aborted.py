"""Finds the batches of aborted transactions in a fetch response."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from datasource.columns.walk import Batches
from raft.client import AbortedFilter
from raft.records.header import CONTROL, HEADER, TRANSACTIONAL, read_header
from raft.types import Offset

_PRODUCER_ID = 9
"""Index of the producer id in `HEADER`."""


def aborted_batches(data: bytes, batches: Batches, aborted: AbortedFilter) -> npt.NDArray[np.bool_]:
    """Return for each batch whether it belongs to an aborted transaction.

    Args:
        data: the fetch response.
        batches: all of its batches, as `walk_batches` returns them.
        aborted: has been told of the batches before.

    Raises:
        DecodeError: a control batch is malformed.
    """
    found = np.zeros(len(batches), np.bool_)
    for index in np.flatnonzero(batches["attributes"] & TRANSACTIONAL):
        batch = batches[index]
        position = int(batch["records_start"]) - HEADER.size
        is_control = bool(batch["attributes"] & CONTROL)
        found[index] = aborted.drops_transactional(
            HEADER.unpack_from(data, position)[_PRODUCER_ID],
            Offset(int(batch["base_offset"] + batch["last_offset_delta"])),
            read_header(data, position).control_types if is_control else (),
        )
    return found
