"""One step of a core: an event, and the effects that the core returned for it."""

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
    """A handled event, before its effects are carried out. It is a plain tuple because a run has very many of them.

    Fields:
        machine: the machine of the core.
        now_ms: the time on the node's own clock.
        event: the handled event.
        effects: what the core ordered.
        role_before, role_after: the same object if no field of the role changed.
        leadership: the leader role in which the step began, or which it reached; None if there was none.
        high_watermark_before, high_watermark: before and after the step.
        log: the model of the core's log, after the step.
        truncated, appended: how the log changed, the truncation first.
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
        """Whether the role or a field of it changed."""
        return self.role_after is not self.role_before

    @property
    def moves_high_watermark(self) -> bool:
        """Whether the high watermark moved, or became unknown."""
        return self.high_watermark != self.high_watermark_before

    @property
    def begins_leadership(self) -> bool:
        """Whether the node becomes leader in this step, even if it resigns in it as well."""
        return self.leadership is not None and self.leadership is not self.role_before


def leadership_in(role_before: Role, effects: Sequence[Effect]) -> Leader | None:
    """Return the leader role that a step begins with or reaches; None if there is none."""
    for effect in effects:
        if isinstance(effect, RoleChanged) and isinstance(effect.new, Leader):
            return effect.new
    return role_before if isinstance(role_before, Leader) else None
