"""Everybody who looks on, told of each thing in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from raft.client.results import BatchPlan, FoundOffset
from raft.core.effects import Effect, SendRequest, SendResponse
from raft.core.messages import AppendResponse
from raft.types import Batch, Epoch, Offset
from tests.simulation.invariants.observer import Asked, Observer
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.machine import Machine
from tests.simulation.step import Step


class Watch(Observer):
    """Tells each observer what it cares for, in their order."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._ask_again()

    def add(self, observers: Sequence[Observer]) -> None:
        """Let others look on as well."""
        self._observers += observers
        self._ask_again()

    def _ask_again(self) -> None:
        """Find out who cares for what: nearly everybody cares for little, and there is much to tell."""

        def those_who_care(hook: str) -> list[Callable[..., None]]:
            caring = (each for each in self._observers if getattr(type(each), hook) is not getattr(Observer, hook))
            return [getattr(each, hook) for each in caring]

        self._for_started = those_who_care("started")
        self._for_lost_memory = those_who_care("lost_memory")
        self._for_handled = those_who_care("handled")
        self._for_changed_role = those_who_care("changed_role")
        self._for_truncated = those_who_care("truncated")
        self._for_appended = those_who_care("appended")
        self._for_moved_high_watermark = those_who_care("moved_high_watermark")
        self._for_stored = those_who_care("stored")
        self._for_wrote = those_who_care("wrote")
        self._for_flushed = those_who_care("flushed")
        self._for_checkpointed = those_who_care("checkpointed")
        self._for_carried_out = those_who_care("carried_out")
        self._for_sent = those_who_care("sent")
        self._for_replied = those_who_care("replied")
        self._for_asked = those_who_care("asked")
        self._for_told = those_who_care("told")
        self._for_planned = those_who_care("planned")
        self._for_found = those_who_care("found")
        self._for_knows_epoch = those_who_care("knows_epoch")
        self._for_read = those_who_care("read")

    def started(self, machine: Machine) -> None:
        for tell in self._for_started:
            tell(machine)

    def lost_memory(self, machine: Machine) -> None:
        for tell in self._for_lost_memory:
            tell(machine)

    def handled(self, step: Step) -> None:
        """Tell of a step, first what it is and then what it changes."""
        for tell in self._for_handled:
            tell(step)
        if step.changes_role:
            self.changed_role(step)
        if step.truncated:
            self.truncated(step)
        if step.appended:
            self.appended(step)
        if step.moves_high_watermark:
            self.moved_high_watermark(step)

    def changed_role(self, step: Step) -> None:
        for tell in self._for_changed_role:
            tell(step)

    def truncated(self, step: Step) -> None:
        for tell in self._for_truncated:
            tell(step)

    def appended(self, step: Step) -> None:
        for tell in self._for_appended:
            tell(step)

    def moved_high_watermark(self, step: Step) -> None:
        for tell in self._for_moved_high_watermark:
            tell(step)

    def stored(self, machine: Machine) -> None:
        for tell in self._for_stored:
            tell(machine)

    def wrote(self, machine: Machine, entries: Sequence[Entry]) -> None:
        for tell in self._for_wrote:
            tell(machine, entries)

    def flushed(self, machine: Machine) -> None:
        for tell in self._for_flushed:
            tell(machine)

    def checkpointed(self, machine: Machine) -> None:
        for tell in self._for_checkpointed:
            tell(machine)

    def carried_out(self, machine: Machine, effect: Effect) -> None:
        for tell in self._for_carried_out:
            tell(machine, effect)

    def sent(self, machine: Machine, order: SendRequest) -> None:
        for tell in self._for_sent:
            tell(machine, order)

    def replied(self, machine: Machine, asked: Asked, order: SendResponse, records: bytes) -> None:
        for tell in self._for_replied:
            tell(machine, asked, order, records)

    def asked(self, client: str, batch: Batch) -> None:
        for tell in self._for_asked:
            tell(client, batch)

    def told(self, client: str, batch: Batch, response: AppendResponse) -> None:
        for tell in self._for_told:
            tell(client, batch, response)

    def planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        for tell in self._for_planned:
            tell(reader, start_offset, plan)

    def found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        for tell in self._for_found:
            tell(reader, timestamp, found)

    def knows_epoch(self, client: str, epoch: Epoch) -> None:
        for tell in self._for_knows_epoch:
            tell(client, epoch)

    def read(self, reader: str, log: LogModel) -> None:
        for tell in self._for_read:
            tell(reader, log)
