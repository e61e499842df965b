"""Compares the batches that streams have planned with the final log."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from raft.types import Batch
from tests.workload.history import LoggedValue, Plan


def overfull(plans: Iterable[Plan], log: Sequence[LoggedValue], batches: Sequence[Batch]) -> Iterator[str]:
    """No batch has more records than it may: markers and aborted records do not count (CLIENT-15); nor more bytes.

    Args:
        plans: what was planned.
        log: the data records that readers may see, in order.
        batches: the whole log.
    """
    offsets = [offset for offset, _ in log]
    ends = [batch.header.end_offset for batch in batches]
    for plan in plans:
        rows = bisect_left(offsets, plan.end_offset) - bisect_left(offsets, plan.start_offset)
        if plan.max_rows is not None and rows > plan.max_rows:
            yield f"{plan.client} planned {_name(plan)} with {rows} records; expected at most {plan.max_rows}"
        first, last = bisect_left(ends, plan.start_offset + 1), bisect_left(ends, plan.end_offset)
        planned = batches[first : last + 1] if plan.start_offset < plan.end_offset else []
        size_bytes = sum(batch.header.size_bytes for batch in planned)
        if plan.max_bytes is not None and len(planned) > 1 and size_bytes > plan.max_bytes:
            yield f"{plan.client} planned {_name(plan)} with {size_bytes} bytes; expected at most {plan.max_bytes}"


def _name(plan: Plan) -> str:
    return f"{plan.start_offset} to {plan.end_offset}"
