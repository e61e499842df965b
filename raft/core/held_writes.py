"""Multipart writes that may not begin yet, because readers would wait without end (rule TXN-12).

The last stable offset is never within a multipart write (TXN-2). If each write begins within the one before, it stays
at the first offset of the first of them. So after a while new writes wait until it has moved on. Those that have begun
go on, and end the wait.
"""

from __future__ import annotations

from raft.core.events import AppendRequested
from raft.core.roles import Leader
from raft.core.state import State
from raft.core.waiting_requests import PendingAppend
from raft.errors import ErrorCode
from raft.types import BatchHeader, Offset
from raft.writers import is_part, tag_of

LONGEST_HELD_MS = 500
"""Longest time before a request that waits is refused, and the client repeats it. Until then its batch takes up memory
for requests, which those that end the wait need, too."""

HELD = (
    "no multipart write begins at present: multipart writes that overlap each other are hidden from readers until all "
    "of them have ended. The write begins when the request is repeated after that"
)

_NEVER = Offset((1 << 63) - 1)


def is_to_be_held(state: State, header: BatchHeader, now_ms: int) -> bool:
    """Whether a batch begins a multipart write, and has to wait."""
    role = state.role
    if not isinstance(role, Leader) or not is_part(header) or not role.write_hold.is_active(now_ms):
        return False
    assert header.producer_id is not None, "a part has a producer id"
    return not state.transactions.has_parts_of(tag_of(header.producer_id))


def hold(state: State, event: AppendRequested, now_ms: int) -> None:
    """Let an append wait. The batch is not kept: the client has to repeat it."""
    assert isinstance(state.role, Leader), "only a leader lets writes wait"
    state.role.write_hold.has_waiting = True
    state.appends.add(
        PendingAppend(
            request_id=event.request_id,
            end_offset=_NEVER,
            error=ErrorCode.REQUEST_TIMED_OUT,
            message=HELD,
            deadline_ms=now_ms + min(event.timeout_ms, LONGEST_HELD_MS),
            is_held=True,
        )
    )


def update_write_hold(state: State, now_ms: int) -> None:
    """Note whether the last stable offset is held back; have waiting requests repeated once it has moved on."""
    role, transactions = state.role, state.transactions
    if not isinstance(role, Leader) or state.high_watermark is None:
        return
    hold, write, stable = role.write_hold, None, state.high_watermark
    if transactions.has_ended_writes:
        stable = transactions.kafkas_stable_offset(state.high_watermark)
        write = transactions.ended_write_around(stable, state.high_watermark)
    hold.note(write, stable, now_ms)
    if not hold.has_waiting or hold.is_active(now_ms):
        return
    hold.has_waiting = False
    for append in [append for append in state.appends if append.is_held]:
        state.appends.take(append.request_id)
        state.respond_to_append(append.request_id, append.error, message=append.message)
