"""Those who look on: each is told of everything that happens to nodes, and changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

from raft.client.results import BatchPlan, FoundOffset
from raft.core.effects import Effect, SendRequest, SendResponse
from raft.core.events import AppendRequested
from raft.core.messages import AppendResponse, ClientFetchRequest, Request, UnknownPartitionRequest
from raft.types import Batch, Epoch, Offset
from tests.simulation.broken import BrokenInvariantError
from tests.simulation.log_model import Entry, LogModel
from tests.simulation.step import Step

if TYPE_CHECKING:
    from tests.simulation.machine import Machine

Asked = Request | UnknownPartitionRequest | ClientFetchRequest | AppendRequested
"""What a core can be asked."""


class Observer:
    """Is told nothing of interest; children look at what they care for."""

    def started(self, machine: Machine) -> None:
        """A node is about to begin a new life, with what was found on the disk."""

    def lost_memory(self, machine: Machine) -> None:
        """A machine that is down has not on its disk what it had: it is another one from now on, by the same name."""

    def handled(self, step: Step) -> None:
        """A core has handled an event; nothing of what it orders is done yet. The four below come after it."""

    def changed_role(self, step: Step) -> None:
        """A core has handled an event that changed something of its role."""

    def truncated(self, step: Step) -> None:
        """A core has handled an event that makes it cut its log."""

    def appended(self, step: Step) -> None:
        """A core has handled an event that makes it append to its log, perhaps after a cut."""

    def moved_high_watermark(self, step: Step) -> None:
        """A core has handled an event that moved its high watermark."""

    def stored(self, machine: Machine) -> None:
        """A new election state is on a disk."""

    def wrote(self, machine: Machine, entries: Sequence[Entry]) -> None:
        """Batches go into a log's file."""

    def flushed(self, machine: Machine) -> None:
        """More of a log is on a disk."""

    def checkpointed(self, machine: Machine) -> None:
        """The checkpoints of a log are on a disk."""

    def carried_out(self, machine: Machine, effect: Effect) -> None:
        """An engine is about to carry out an effect."""

    def sent(self, machine: Machine, order: SendRequest) -> None:
        """A request leaves a node."""

    def replied(self, machine: Machine, asked: Asked, order: SendResponse, records: bytes) -> None:
        """An answer leaves a node."""

    def asked(self, client: str, batch: Batch) -> None:
        """A client asks for a write for the first time."""

    def told(self, client: str, batch: Batch, response: AppendResponse) -> None:
        """A client is told for certain what became of its write."""

    def planned(self, reader: str, start_offset: Offset, plan: BatchPlan) -> None:
        """A client is told how far it can read from an offset."""

    def found(self, reader: str, timestamp: int, found: FoundOffset | None) -> None:
        """A client is told which offset a time has."""

    def knows_epoch(self, client: str, epoch: Epoch) -> None:
        """The session of a client has taken a step, and this is the highest leader epoch that it knows."""

    def read(self, reader: str, log: LogModel) -> None:
        """A client has read on; `log` is all it has read."""


class Invariant(Observer):
    """Something that must hold at all times.

    Attributes:
        rules: which rules say so.
    """

    rules: ClassVar[tuple[str, ...]]

    def fail(self, detail: str) -> NoReturn:
        """Say that it does not hold.

        Raises:
            BrokenInvariantError: always.
        """
        raise BrokenInvariantError(type(self).__name__, self.rules, detail)

    def require(self, holds: bool, detail: str, *details: object) -> None:
        """Say so if it does not hold.

        Args:
            holds: whether it does.
            detail: what is seen, with "%s" for each of `details`; put into words only when needed.

        Raises:
            BrokenInvariantError: it does not.
        """
        if not holds:
            self.fail(detail % details)
