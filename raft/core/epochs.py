"""Which epochs a node adopts from a message (rule EPOCH-1).

Epochs are int32 on the wire and rise by one with each election. A node adopts a higher epoch from any message. So a
single message with the largest epoch would leave the quorum without an epoch for its next election.
"""

from __future__ import annotations

from raft.types import Epoch

LAST_EPOCH = Epoch((1 << 31) - 1)
"""The largest epoch that fits its field; no election reaches it."""

HIGHEST_ADOPTED_EPOCH = Epoch(LAST_EPOCH - (1 << 16))
"""The highest epoch that is adopted from a message: it leaves room for 65,535 elections."""

LARGEST_STEP = 1_000_000
"""How far the epoch of a message may be ahead of ours, once this node has taken part in an election: that is one
election per second for eleven days. A node at epoch 0 is new, and adopts the epoch of the quorum that it joins."""


def can_be_adopted(epoch: int, *, ours: Epoch) -> bool:
    """Whether a node adopts this epoch of a message.

    Args:
        epoch: the message's.
        ours: the node's.
    """
    if epoch > HIGHEST_ADOPTED_EPOCH:
        return False
    return ours == 0 or epoch - ours <= LARGEST_STEP
