"""Everybody who looks on, told of each thing in turn."""

from __future__ import annotations

from collections.abc import Sequence

from raft.core.effects import Reply, Send
from raft.core.events import AppendRequested
from raft.core.messages import ClientFetchRequest, Request
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.commitment import (
    CommittedIsDurable,
    CommittedNeverChanges,
    HighWatermarkNeverFalls,
    LeadersAreComplete,
    OwnEpochCommits,
)
from tests.simulation.invariants.elections import (
    ElectedByMajority,
    EpochNeverFalls,
    NobodyLeadsOn,
    ObserversOnlyFollow,
    OneLeaderPerEpoch,
    OneVotePerEpoch,
)
from tests.simulation.invariants.logs import (
    EpochCheckpointMatchesLog,
    LeadersOnlyAppend,
    LogsMatch,
    NothingCommittedIsCut,
    ViewMatchesLog,
)
from tests.simulation.invariants.observer import Invariant, Observer
from tests.simulation.invariants.persistence import OnlyDurableIsFetched, StoredBeforeSent
from tests.simulation.invariants.reads import ReadersAreNotSentBack, ReadersGoForward, ReadsAreCommitted
from tests.simulation.invariants.timers import LeadersAreHeard, OnlyFetchesKeepLeaders
from tests.simulation.invariants.writes import AnswersAreTrue, WriterTableFollowsLog, WrittenOnce
from tests.simulation.log_twin import Entry, LogTwin
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan
from tests.simulation.step import Step


def all_invariants(plan: Plan, machines: Sequence[Machine], committed: CommittedLog) -> list[Invariant]:
    """Return every invariant, in the order in which they are checked: the one that keeps the committed log comes
    after those that must see how it was.
    """
    votes = OneVotePerEpoch()
    return [
        OneLeaderPerEpoch(),
        NobodyLeadsOn(),
        votes,
        ElectedByMajority(plan.voters, votes),
        EpochNeverFalls(),
        ObserversOnlyFollow(),
        OnlyFetchesKeepLeaders(),
        LeadersAreHeard(plan),
        StoredBeforeSent(),
        OnlyDurableIsFetched(),
        LogsMatch(),
        LeadersOnlyAppend(),
        NothingCommittedIsCut(committed),
        ViewMatchesLog(),
        EpochCheckpointMatchesLog(),
        WrittenOnce(),
        WriterTableFollowsLog(),
        HighWatermarkNeverFalls(),
        OwnEpochCommits(),
        CommittedIsDurable(machines),
        CommittedNeverChanges(committed),
        LeadersAreComplete(committed, machines),
        AnswersAreTrue(committed),
        ReadsAreCommitted(committed),
        ReadersAreNotSentBack(),
        ReadersGoForward(committed),
    ]


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

        def those_who_care(hook: str) -> list[Observer]:
            return [each for each in self._observers if getattr(type(each), hook) is not getattr(Observer, hook)]

        self._for_started = those_who_care("started")
        self._for_handled = those_who_care("handled")
        self._for_stored = those_who_care("stored")
        self._for_wrote = those_who_care("wrote")
        self._for_flushed = those_who_care("flushed")
        self._for_sent = those_who_care("sent")
        self._for_replied = those_who_care("replied")
        self._for_read = those_who_care("read")

    def started(self, machine: Machine) -> None:
        for observer in self._for_started:
            observer.started(machine)

    def handled(self, step: Step) -> None:
        for observer in self._for_handled:
            observer.handled(step)

    def stored(self, machine: Machine) -> None:
        for observer in self._for_stored:
            observer.stored(machine)

    def wrote(self, machine: Machine, entries: Sequence[Entry]) -> None:
        for observer in self._for_wrote:
            observer.wrote(machine, entries)

    def flushed(self, machine: Machine) -> None:
        for observer in self._for_flushed:
            observer.flushed(machine)

    def sent(self, machine: Machine, order: Send) -> None:
        for observer in self._for_sent:
            observer.sent(machine, order)

    def replied(
        self, machine: Machine, asked: Request | ClientFetchRequest | AppendRequested, reply: Reply, records: bytes
    ) -> None:
        for observer in self._for_replied:
            observer.replied(machine, asked, reply, records)

    def read(self, reader: str, log: LogTwin) -> None:
        for observer in self._for_read:
            observer.read(reader, log)
