"""One step of a core: an event went in, effects came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from raft.core.effects import Effect, RoleChanged
from raft.core.events import Event
from raft.core.roles import Leader, Role
from raft.types import Offset
from tests.simulation.log_model import Entry, LogModel

if TYPE_CHECKING:
    from tests.simulation.machine import Machine


class Step(NamedTuple):
    """What a node made of an event, before any of it is carried out. There are so many that they are plain tuples.

    Fields:
        machine: whose core.
        now_ms: by the node's own clock.
        role_before, role_after: the same object if nothing about the role has changed.
        term: the leadership under which the step was made, wholly or in part: it may begin in it, and end in it.
        high_watermark_before, high_watermark: before and after.
        log: what the node believes to be in its log, after.
        truncated, appended: how the node's view of its log changed, the cut first.
    """

    machine: Machine
    now_ms: int
    event: Event
    effects: Sequence[Effect]
    role_before: Role
    role_after: Role
    leadership: Leader | None
    high_watermark_before: Offset | None
    high_watermark: Offset | None
    log: LogModel
    truncated: Sequence[Entry]
    appended: Sequence[Entry]

    @property
    def changes_role(self) -> bool:
        """Whether the node knows something else of its role, even if it keeps it."""
        return self.role_after is not self.role_before

    @property
    def moves_high_watermark(self) -> bool:
        """Whether the node knows another high watermark, or none any more."""
        return self.high_watermark != self.high_watermark_before

    @property
    def begins_leadership(self) -> bool:
        """Whether the node becomes leader in it, even if it resigns at once."""
        return self.leadership is not None and self.leadership is not self.role_before


def leadership_in(role_before: Role, effects: Sequence[Effect]) -> Leader | None:
    """Return the leadership that a step begins with, or comes to."""
    for effect in effects:
        if isinstance(effect, RoleChanged) and isinstance(effect.new, Leader):
            return effect.new
    return role_before if isinstance(role_before, Leader) else None
