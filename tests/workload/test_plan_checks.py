"""A batch that is larger than it may be is named."""

from __future__ import annotations

import pytest

from raft.records.batches import read_batches
from raft.records.header_fields import with_base_offset_and_epoch
from raft.types import Batch, Epoch, Offset
from tests.node.harness.batches import batch_of
from tests.workload.history import Plan
from tests.workload.plan_checks import overfull

VALUES = (b"A", b"B", b"C")
LOG = [(Offset(at), value) for at, value in enumerate(VALUES)]
BATCH_BYTES = len(batch_of(b"A"))


def batches() -> list[Batch]:
    """A log with a batch for each value."""
    placed = [with_base_offset_and_epoch(batch_of(value), Offset(at), Epoch(1)) for at, value in enumerate(VALUES)]
    return list(read_batches(b"".join(placed)))


def plan(start: int, end: int, *, rows: int | None = None, size_bytes: int | None = None) -> Plan:
    return Plan(
        client="stream", start_offset=Offset(start), end_offset=Offset(end), max_rows=rows, max_bytes=size_bytes
    )


@pytest.mark.parametrize(
    "planned",
    [
        pytest.param(plan(0, 3), id="without limits"),
        pytest.param(plan(0, 2, rows=2), id="as many records as it may have"),
        pytest.param(plan(1, 3, size_bytes=2 * BATCH_BYTES), id="as many bytes as it may have"),
        pytest.param(plan(1, 2, size_bytes=1), id="one record batch that is larger"),
        pytest.param(plan(2, 2, rows=1, size_bytes=1), id="nothing"),
    ],
)
def test_batch_that_is_no_larger_than_it_may_be_is_fine(planned: Plan) -> None:
    assert not list(overfull([planned], LOG, batches()))


@pytest.mark.parametrize(
    ("planned", "story"),
    [
        pytest.param(plan(0, 3, rows=2), "planned 0 to 3 with 3 records; expected at most 2", id="records"),
        pytest.param(
            plan(1, 3, size_bytes=2 * BATCH_BYTES - 1), f"planned 1 to 3 with {2 * BATCH_BYTES} bytes", id="bytes"
        ),
    ],
)
def test_batch_that_is_too_large_is_named(planned: Plan, story: str) -> None:
    (found,) = overfull([planned], LOG, batches())

    assert story in found
