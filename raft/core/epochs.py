"""Which epochs can be true (rule EPOCH-1).

Epochs are int32 on the wire and rise by one with each election. A node adopts a higher epoch from any message, so one
message with the last epoch there is would leave the quorum without an epoch to elect the next leader in.
"""

from __future__ import annotations

from raft.types import Epoch

LAST_EPOCH = Epoch((1 << 31) - 1)
"""The last one that can be written; no election reaches it."""

HIGHEST_ADOPTED_EPOCH = Epoch(LAST_EPOCH - (1 << 16))
"""The highest epoch taken over from a message: it leaves room for 65,535 elections."""

LARGEST_STEP = 1_000_000
"""How far a message may be ahead of a node that has taken part in an election: one election a second for eleven days.
A node at epoch 0 is new, and adopts the epoch of whatever quorum it joins."""


def can_be_adopted(epoch: int, *, ours: Epoch) -> bool:
    """Whether a message's epoch can be that of this quorum, as far as the number tells."""
    if epoch > HIGHEST_ADOPTED_EPOCH:
        return False
    return ours == 0 or epoch - ours <= LARGEST_STEP
