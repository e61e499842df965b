"""What all clients that write have in common: each batch is asked for again, anywhere, until it is settled."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from raft.core.messages import AppendResponse
from raft.defaults import WRITER_EXPIRATION_MS
from raft.errors import ErrorCode
from raft.types import Batch
from tests.simulation.clients.caller import Caller
from tests.simulation.dice import Dice
from tests.simulation.invariants.observer import Observer
from tests.simulation.plan import ClientPlan
from tests.simulation.timeline import Timeline

WALL_CLOCK_MS = 1_700_000_000_000
"""What clocks of clients show when the run begins."""

LEAP_MS = 2 * WRITER_EXPIRATION_MS
"""How far they go forward, if they do."""

_BACKOFF_MS = (10, 80)
_SETTLED = (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER, ErrorCode.DUPLICATE_RESOURCE)


@dataclass(slots=True, eq=False)
class Write:
    """One batch that is to get into the log, and how often it was asked for so far."""

    batch: Batch
    attempts: int = 0
    is_settled: bool = False


class Writer(ABC):
    """Makes writes now and then, and does not rest until each is settled.

    A lost answer, error 6 and error 7 say nothing of the outcome, so the same bytes are sent again. Error 45 is
    retried as well: the batch before may still be under way, or the node led in days gone by and knows too little.
    """

    def __init__(
        self, name: str, caller: Caller, *, timeline: Timeline, dice: Dice, plan: ClientPlan, watch: Observer
    ) -> None:
        self.name = name
        self._caller = caller
        self._timeline = timeline
        self._dice = dice
        self._plan = plan
        self._watch = watch
        self._under_way: list[Write] = []
        self._is_making = True

    @property
    def has_unsettled(self) -> bool:
        """Whether a write of it is still without a final answer."""
        return bool(self._under_way)

    def begin(self) -> None:
        """Make the first write, and then others after pauses."""
        if self._is_making:
            self._make_more()
            self._timeline.after(self._dice.between(self._plan.pause_ms), self.begin)

    @property
    def _wall_clock_ms(self) -> int:
        """What its clock shows: the timestamp of its records."""
        now_ms, leap_at_ms = self._timeline.now_ms, self._plan.clocks_leap_at_ms
        has_leapt = leap_at_ms is not None and now_ms >= leap_at_ms
        return WALL_CLOCK_MS + now_ms + (LEAP_MS if has_leapt else 0)

    def make_last(self) -> None:
        """Make one more write, then no others."""
        self._is_making = False
        self._make_more()

    @abstractmethod
    def _make_more(self) -> None:
        """Begin another write, if that may be."""

    def _write(self, batch: Batch) -> None:
        write = Write(batch)
        self._under_way.append(write)
        self._watch.asked(self.name, batch.header)
        self._ask(write)

    def _ask(self, write: Write) -> None:
        if write.is_settled:
            return
        write.attempts += 1
        attempt = write.attempts
        self._caller.append(
            write.batch,
            self._dice.between(self._plan.timeout_ms),
            lambda response: self._on_answer(write, attempt, response),
        )
        self._timeline.after(self._plan.patience_ms, lambda: self._on_silence(write, attempt))

    def _on_silence(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts and not write.is_settled:
            self._caller.believe(None)
            self._ask(write)

    def _on_answer(self, write: Write, attempt: int, response: AppendResponse) -> None:
        if write.is_settled:
            return
        if response.error in _SETTLED:
            write.is_settled = True
            self._watch.told(self.name, write.batch.header, response)
            self._under_way.remove(write)
        elif attempt == write.attempts:
            # Who cannot commit in time may be a leader that the others have left.
            is_timed_out = response.error == ErrorCode.REQUEST_TIMED_OUT
            self._caller.believe(None if is_timed_out else response.leader_id)
            self._timeline.after(self._dice.between(_BACKOFF_MS), lambda: self._ask_again(write, attempt))

    def _ask_again(self, write: Write, attempt: int) -> None:
        if attempt == write.attempts:
            self._ask(write)
