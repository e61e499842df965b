"""The event loop of one process, in virtual time."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable

from raft.runtime.scheduler import Action
from tests.simulation.broken import ProcessEndedError
from tests.simulation.clock import Clock
from tests.simulation.dice import Dice
from tests.simulation.plan import ClockPlan
from tests.simulation.processor import Processor
from tests.simulation.timeline import Rank, Timeline

_RANKS = 1 << 30


class SimulatedTimer:
    """See `raft.runtime.scheduler.Timer`."""

    def __init__(self, due_ms: int, action: Action) -> None:
        self.due_ms = due_ms
        self._action: Action | None = action

    @property
    def is_cancelled(self) -> bool:
        """Whether its action will not run."""
        return self._action is None

    def cancel(self) -> None:
        """See `Timer.cancel`. An action that is due and waits for others does not run either, as with asyncio."""
        self._action = None

    def run(self) -> None:
        """Run the action, unless it is cancelled."""
        if self._action is not None:
            self._action()


class EventLoop:
    """Runs the actions of one process, one at a time; see `raft.runtime.scheduler.Scheduler`.

    Args:
        timeline: the true time.
        clock: the clock of the process.
        timer_grain_ms: timers expire only at multiples of this, in true time.
        rank: the rank of its timers, added to `Rank.TIMER`.
        plan: how often and how long the loop is busy.
        dice: draws the busy times.

    Attributes:
        wall_ms: the value of the wall clock; set by `WatchedCore`.
        processor: the processor of the process, which runs no action while it is busy.
        idle: called when all actions have run; None for no callback.
    """

    def __init__(
        self, timeline: Timeline, clock: Clock, *, timer_grain_ms: int, rank: int, plan: ClockPlan, dice: Dice
    ) -> None:
        self.wall_ms = 0
        self.processor = Processor(timeline)
        self.idle: Action | None = None
        self._timeline = timeline
        self._clock = clock
        self._timer_grain_ms = timer_grain_ms
        self._rank = Rank.TIMER + rank
        self._plan = plan
        self._dice = dice
        self._ready: deque[Action] = deque()
        self._arrived: list[tuple[Hashable, Action]] = []
        # In the order in which they were set: a set would have another one in each process.
        self._timers: dict[SimulatedTimer, None] = {}
        self._is_running = False
        self._is_over = False
        self._stalled_until_ms = 0

    @property
    def is_idle(self) -> bool:
        """Whether a new action would run at once."""
        return not (self._ready or self._arrived or self._is_running or self._is_stalled)

    def now_ms(self) -> int:
        """See `Scheduler.now_ms`."""
        return self._clock.now_ms

    def wall_clock_ms(self) -> int:
        """See `Scheduler.wall_clock_ms`."""
        return self.wall_ms

    def soon(self, action: Action) -> None:
        """See `Scheduler.soon`. An action from outside the loop runs at once."""
        self._ready.append(action)
        if self._is_due and self._dice.chance(self._plan.busy_percent):
            self.stall(self._timeline.now_ms + self._dice.between(self._plan.busy_ms))
        self._run()

    def arrive(self, connection: Hashable, action: Action) -> None:
        """Run what handles data of a connection. After a stall the connections are served in a random order, as their
        data is found in the buffers of sockets that are all readable.
        """
        if self._is_stalled:
            self._arrived.append((connection, action))
        else:
            self.soon(action)

    def post(self, action: Action) -> None:
        """See `Scheduler.post`."""
        self.soon(action)

    def at(self, due_ms: int, action: Action) -> SimulatedTimer:
        """See `Scheduler.at`."""
        timer = SimulatedTimer(due_ms, action)
        self._timers[timer] = None
        self._plan_timer(timer)
        return timer

    def use(self, duration_us: int) -> None:
        """Use the processor for some time; new actions wait until that has passed."""
        before_ms = self.processor.free_ms
        self.processor.use(duration_us)
        if self.processor.is_busy and self.processor.free_ms > before_ms:
            self._timeline.at(self.processor.free_ms, self._run)

    def stall(self, until_ms: int) -> None:
        """Run no action until then; new actions wait."""
        self._stalled_until_ms = until_ms
        self._timeline.at(until_ms, self._run)

    def wake(self) -> None:
        """End a stall early."""
        self._stalled_until_ms = 0
        self._run()

    def jump_ahead(self, jump_ms: int) -> None:
        """Make the clock jump, so that timers expire earlier in true time."""
        self._clock.jump(jump_ms)
        for timer in sorted(self._timers, key=lambda timer: timer.due_ms):
            self._plan_timer(timer)

    def end(self) -> None:
        """Run no action any more."""
        self._is_over = True
        self._ready.clear()
        self._arrived.clear()
        self._timers.clear()

    @property
    def _is_due(self) -> bool:
        """Whether an action that came while the loop was idle runs next."""
        return len(self._ready) == 1 and not (self._is_running or self._is_stalled)

    @property
    def _is_stalled(self) -> bool:
        return self._timeline.now_ms < self._stalled_until_ms or self.processor.is_busy

    def _plan_timer(self, timer: SimulatedTimer) -> None:
        due_ms = self._clock.true_ms(timer.due_ms)
        due_ms += -due_ms % self._timer_grain_ms
        self._timeline.at(due_ms, lambda: self._on_timer(timer), self._rank)

    def _on_timer(self, timer: SimulatedTimer) -> None:
        if timer not in self._timers:
            return
        del self._timers[timer]
        if not timer.is_cancelled:
            self.soon(timer.run)

    def _take_arrived(self) -> None:
        ranks = {connection: self._dice.draw(_RANKS) for connection, _ in self._arrived}
        self._ready.extend(action for _, action in sorted(self._arrived, key=lambda arrived: ranks[arrived[0]]))
        self._arrived.clear()

    def _run(self) -> None:
        if self._is_running:
            return
        if self._arrived and not self._is_stalled:
            self._take_arrived()
        self._is_running = True
        try:
            while self._ready and not (self._is_over or self._is_stalled):
                self._ready.popleft()()
        except ProcessEndedError:
            assert self._is_over, "only an ended process raises this"
        finally:
            self._is_running = False
        if self.idle is not None and self.is_idle and not self._is_over:
            self.idle()
