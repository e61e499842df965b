"""Invariants of client quotas (rules QUOTA), at the nodes that have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raft.runtime.client_quotas import CREDIT_S, LONGEST_THROTTLES_S
from raft.runtime.turns import Standing
from raft.security.quotas import QuotaKind
from tests.simulation.invariants.observer import Invariant
from tests.simulation.invariants.overdue import Overdue

if TYPE_CHECKING:
    from tests.simulation.inbound import Inbound, Turn
    from tests.simulation.machine import Machine
    from tests.simulation.plan import Plan
    from tests.simulation.process import Process

_MS = 1_000
_LONGEST_DEBT_MS = LONGEST_THROTTLES_S[QuotaKind.REQUEST_PERCENTAGE] * _MS
_ROUNDING_MS = 2
"""Clocks show whole milliseconds."""


class ThrottledConnectionsWait(Invariant):
    """A throttled connection begins no request for as long as the response has said, and is muted no longer."""

    rules = ("QUOTA-3",)

    def __init__(self, plan: Plan) -> None:
        super().__init__()
        self._overdue = Overdue(plan.timeouts.timer_grain_ms)
        self._muted: dict[Inbound, tuple[Process, int]] = {}
        """The process of each connection that was throttled, and until when it is muted."""

    def client_throttled(self, machine: Machine, inbound: Inbound, throttle_ms: int) -> None:
        assert machine.process is not None, "it runs"
        self._muted[inbound] = machine.process, machine.process.now_ms + throttle_ms

    def request_begun(self, machine: Machine, inbound: Inbound) -> None:
        muted = self._muted.pop(inbound, None)
        if muted is not None:
            process, until_ms = muted
            early_ms = until_ms - process.now_ms
            self.require(early_ms <= 0, "%s: a request of a throttled client begins %s ms early", machine, early_ms)

    def turns_ended(self, machine: Machine, connections: object) -> None:
        for inbound, (process, until_ms) in self._muted.items():
            if process is machine.process:
                is_due = inbound.throttle.is_muted and not inbound.is_closing and process.now_ms > until_ms
                is_late = self._overdue.is_late(inbound, machine.true_ms, is_due=is_due)
                self.require(not is_late, "%s: a client is muted for too long", machine)


class QuotaLimitsTurns(Invariant):
    """A client with a quota of processor time has a turn only if what all clients of its entity have used allows it.

    A model of the quota counts that: the time passes at which what was used is paid for.
    """

    rules = ("QUOTA-2", "QUOTA-6")

    def __init__(self) -> None:
        super().__init__()
        self._paid_ms: dict[tuple[Process, object], float] = {}

    def turn_ended(self, machine: Machine, turn: Turn) -> None:
        process, pace = machine.process, turn.inbound.pace
        if process is None or pace is None or turn.standing is not Standing.KNOWN:
            return
        now_ms = process.now_ms
        key = process, pace
        paid_ms = max(self._paid_ms.get(key, 0.0), now_ms - CREDIT_S * _MS)
        if turn.is_limited:
            early_ms = paid_ms - now_ms - _ROUNDING_MS
            self.require(early_ms <= 0, "%s: a client has a turn %s ms before its quota allows it", machine, early_ms)
        used_ms = turn.used_us / _MS / pace.per_second
        self._paid_ms[key] = min(paid_ms + used_ms, now_ms + _LONGEST_DEBT_MS)
