"""Every invariant there is, and the order in which they are asked."""

from __future__ import annotations

from collections.abc import Sequence

from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.clients import (
    ClientsAreToldTheTruth,
    FoundOffsetsAreTrue,
    PlansAreTrue,
    SessionsKeepTheirEpoch,
)
from tests.simulation.invariants.commitment import (
    CheckpointIsCommitted,
    CommittedIsDurable,
    CommittedNeverChanges,
    HighWatermarkNeverFalls,
    LeadersAreComplete,
    OwnEpochCommits,
)
from tests.simulation.invariants.elections import (
    ElectedByMajority,
    EpochNeverFalls,
    LeadershipEndsWithTheProcess,
    ObserversOnlyFollow,
    OneLeaderPerEpoch,
    OneVotePerEpoch,
)
from tests.simulation.invariants.engines import ReadsFindRecords, WaitingRequestsAreKnown
from tests.simulation.invariants.histories import (
    HistoryIsLinearizable,
    OnlyRequestedWritesAreCommitted,
    WritersKeepTheirOrder,
)
from tests.simulation.invariants.logs import (
    EpochCheckpointMatchesLog,
    LeadersOnlyAppend,
    LogsMatch,
    NothingCommittedIsCut,
    ViewMatchesLog,
)
from tests.simulation.invariants.observer import Invariant
from tests.simulation.invariants.peers import NoResponseHaltsPeers, OtherClustersChangeNothing
from tests.simulation.invariants.persistence import OnlyDurableIsFetched, RoleIsStored, StoredBeforeSent
from tests.simulation.invariants.reads import ReadersAreNotSentBack, ReadersGoForward, ReadsAreCommitted
from tests.simulation.invariants.timers import LeadersAreHeard, OnlyFetchesKeepLeaders, ReplicasHearSoon
from tests.simulation.invariants.writes import AppendResponsesAreTrue, WriterTableFollowsLog, WrittenOnce
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan


def all_invariants(plan: Plan, machines: Sequence[Machine], committed: CommittedLog) -> list[Invariant]:
    """Return every invariant, in the order in which they are checked: the one that keeps the committed log comes
    after those that must see how it was.
    """
    votes = OneVotePerEpoch()
    return [
        EpochNeverFalls(),
        OneLeaderPerEpoch(),
        LeadershipEndsWithTheProcess(),
        votes,
        ElectedByMajority(plan.voters, votes),
        ObserversOnlyFollow(),
        OnlyFetchesKeepLeaders(plan),
        LeadersAreHeard(plan),
        ReplicasHearSoon(plan),
        RoleIsStored(),
        StoredBeforeSent(),
        OtherClustersChangeNothing(),
        NoResponseHaltsPeers(),
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
        OnlyRequestedWritesAreCommitted(committed),
        WritersKeepTheirOrder(committed),
        CommittedNeverChanges(committed),
        CheckpointIsCommitted(committed),
        LeadersAreComplete(committed, machines),
        AppendResponsesAreTrue(committed),
        HistoryIsLinearizable(),
        WaitingRequestsAreKnown(),
        ReadsFindRecords(),
        ReadsAreCommitted(committed),
        ReadersAreNotSentBack(),
        ReadersGoForward(committed),
        SessionsKeepTheirEpoch(),
        ClientsAreToldTheTruth(committed),
        PlansAreTrue(committed),
        FoundOffsetsAreTrue(committed),
    ]
