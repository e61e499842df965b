"""The errors that end a run, or one process in it.

They are no children of `Exception`, because the engine under test handles these.
"""

from __future__ import annotations


class BrokenInvariantError(BaseException):
    """An invariant does not hold: the product has a bug, or the simulator.

    Args:
        invariant: the name of the invariant.
        rules: the ids of the rules that demand it.
        detail: what was seen.
    """

    def __init__(self, invariant: str, rules: tuple[str, ...], detail: str) -> None:
        super().__init__(f"{invariant} ({', '.join(rules)}): {detail}")
        self.invariant = invariant
        self.rules = rules
        self.detail = detail

    def __reduce__(self) -> tuple[type[BrokenInvariantError], tuple[str, tuple[str, ...], str]]:
        """Let other processes report it."""
        return type(self), (self.invariant, self.rules, self.detail)


class ProcessEndedError(BaseException):
    """The process was killed within a step. It is raised through the process's own code up to its event loop."""
