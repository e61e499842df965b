"""Finds the batches of aborted transactions in a fetch response."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from datasource.columns.batch_table import Batches
from raft.client import AbortedFilter
from raft.records.header import read_header
from raft.records.header_fields import CONTROL, HEADER, TRANSACTIONAL, fields_at
from raft.types import Offset


def aborted_batches(data: bytes, batches: Batches, aborted: AbortedFilter) -> npt.NDArray[np.bool_]:
    """Return for each batch whether it belongs to an aborted transaction.

    Args:
        data: the fetch response.
        batches: all of its batches, as `read_batch_table` returns them.
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
            fields_at(data, position).producer_id,
            Offset(int(batch["base_offset"] + batch["last_offset_delta"])),
            read_header(data, position).control_types if is_control else (),
        )
    return found
