"""What ends a run, or one life of a node in it.

Neither is an `Exception`: the engine under test catches these, as it must.
"""

from __future__ import annotations


class BrokenInvariantError(BaseException):
    """A promise of the quorum was broken, or the simulator is wrong.

    Args:
        invariant: name of the invariant.
        rules: which it stands for.
        detail: what was seen.
    """

    def __init__(self, invariant: str, rules: tuple[str, ...], detail: str) -> None:
        super().__init__(f"{invariant} ({', '.join(rules)}): {detail}")
        self.invariant = invariant
        self.rules = rules
        self.detail = detail


class ProcessEndedError(BaseException):
    """The process is gone in the middle of what it was doing; raised through its own code, to its event loop."""
