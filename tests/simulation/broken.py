"""What ends a run."""

from __future__ import annotations


class BrokenInvariantError(Exception):
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
