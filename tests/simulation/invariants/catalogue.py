"""All invariants, in the order in which they are checked."""

from __future__ import annotations

from collections.abc import Sequence

from raft.types import CleanupPolicy, NodeId
from tests.simulation.committed_log import CommittedLog
from tests.simulation.invariants.clients import (
    BatchPlansAreCorrect,
    FoundOffsetsAreCorrect,
    LatestIsLinearizable,
    SessionEpochNeverFalls,
    WriteOutcomesAreCorrect,
)
from tests.simulation.invariants.commitment import (
    CheckpointIsCommitted,
    CommitNeedsRecordOfOwnEpoch,
    CommittedIsDurable,
    CommittedNeverChanges,
    HighWatermarkNeverFalls,
    LeadersAreComplete,
)
from tests.simulation.invariants.compacted_ends import MissingRecordsAreReplaced
from tests.simulation.invariants.damage import (
    DamagedLeaderHandsOver,
    DamagedVoterStandsAside,
    FetchesNameDamage,
    RepairsAreCommitted,
    ReplicasGetSoundRecords,
    SoundLogHasNoDamage,
)
from tests.simulation.invariants.elections import (
    ElectedByMajority,
    EpochNeverFalls,
    LeadershipEndsWithTheProcess,
    ObserversOnlyFollow,
    OneLeaderPerEpoch,
    OneVotePerEpoch,
)
from tests.simulation.invariants.engines import (
    EngineAndCoreHoldSameRequests,
    PageCacheIsForReaders,
    ReadsFindRecords,
    TimerIsNotLate,
)
from tests.simulation.invariants.histories import (
    HistoryIsLinearizable,
    OnlyRequestedWritesAreCommitted,
    WritersKeepTheirOrder,
)
from tests.simulation.invariants.logs import (
    CommittedIsNotTruncated,
    EpochCheckpointMatchesLog,
    LeadersOnlyAppend,
    LogsMatch,
    ViewMatchesLog,
)
from tests.simulation.invariants.observer import Invariant
from tests.simulation.invariants.peers import ForeignRequestsAreRefused, NoResponseHaltsPeers
from tests.simulation.invariants.persistence import FetchOffsetIsDurable, RoleIsStored, StoredBeforeSent
from tests.simulation.invariants.quotas import QuotaLimitsTurns, ThrottledConnectionsWait
from tests.simulation.invariants.reads import ReadersFollowCommittedLog, ReadOffsetsStayValid, ReadsAreCommitted
from tests.simulation.invariants.security import (
    AllowedRequestsAreServed,
    ConnectionsEndWithoutProof,
    PrincipalsAreProved,
    RecordsOfIntrudersAreNotAppended,
    RefusalsAreCorrect,
    RefusedNodesStop,
    RefusedRequestsChangeNothing,
)
from tests.simulation.invariants.snapshots import (
    CompactedReadsAreCommitted,
    LogStartsAtASnapshot,
    ReadersSeeTheState,
    SnapshotsHoldTheState,
)
from tests.simulation.invariants.space import ReserveIsKept
from tests.simulation.invariants.timers import (
    HighWatermarkIsSentInTime,
    LeaderWithoutMajorityResigns,
    OnlyFetchesResetFetchTimeout,
)
from tests.simulation.invariants.transactions import (
    AbortedIndexMatchesLog,
    LastStableOffsetIsCorrect,
    MultipartWritesAreWhole,
    PlannedBatchesHaveTheirRows,
    ReadersSeeCommittedTransactions,
    StableOffsetMovesOn,
    TransactionsAreAtomic,
    TransactionTableMatchesLog,
    ViewsEndOutsideOfWrites,
)
from tests.simulation.invariants.turns import (
    ClientsAreServedInTurn,
    HeldRequestsAreHandled,
    ReceivedRequestsAreServed,
    VotersAreServedFirst,
)
from tests.simulation.invariants.writes import AppendResponsesAreCorrect, WriterTableMatchesLog, WrittenOnce
from tests.simulation.machine import Machine
from tests.simulation.plan import Plan


def all_invariants(plan: Plan, machines: Sequence[Machine], committed: CommittedLog) -> list[Invariant]:
    """Return all invariants. The one that keeps the committed log comes behind those that compare a step with the
    committed log before it.
    """
    votes = OneVotePerEpoch()
    return [
        *(_invariants_of_security(plan.voters) if plan.security.is_secured else ()),
        *_invariants_of_reads(plan.snapshots.policy, committed),
        EpochNeverFalls(),
        OneLeaderPerEpoch(),
        LeadershipEndsWithTheProcess(),
        votes,
        ElectedByMajority(plan.voters, votes),
        ObserversOnlyFollow(),
        OnlyFetchesResetFetchTimeout(plan),
        LeaderWithoutMajorityResigns(plan),
        HighWatermarkIsSentInTime(plan),
        RoleIsStored(),
        StoredBeforeSent(),
        ForeignRequestsAreRefused(),
        NoResponseHaltsPeers(),
        FetchOffsetIsDurable(),
        LogsMatch(),
        LeadersOnlyAppend(),
        CommittedIsNotTruncated(committed),
        ViewMatchesLog(),
        EpochCheckpointMatchesLog(),
        WrittenOnce(),
        WriterTableMatchesLog(),
        TransactionTableMatchesLog(),
        AbortedIndexMatchesLog(),
        HighWatermarkNeverFalls(),
        CommitNeedsRecordOfOwnEpoch(),
        CommittedIsDurable(machines),
        OnlyRequestedWritesAreCommitted(committed),
        WritersKeepTheirOrder(committed),
        MultipartWritesAreWhole(committed),
        TransactionsAreAtomic(committed),
        CommittedNeverChanges(committed),
        LastStableOffsetIsCorrect(committed),
        ViewsEndOutsideOfWrites(committed),
        StableOffsetMovesOn(plan),
        CheckpointIsCommitted(committed),
        LeadersAreComplete(committed, machines),
        AppendResponsesAreCorrect(committed),
        HistoryIsLinearizable(),
        EngineAndCoreHoldSameRequests(),
        VotersAreServedFirst(),
        ClientsAreServedInTurn(),
        ReceivedRequestsAreServed(plan),
        HeldRequestsAreHandled(),
        ThrottledConnectionsWait(plan),
        QuotaLimitsTurns(),
        TimerIsNotLate(),
        ReadsFindRecords(),
        PageCacheIsForReaders(),
        ReserveIsKept(),
        SoundLogHasNoDamage(),
        ReplicasGetSoundRecords(),
        DamagedLeaderHandsOver(plan),
        DamagedVoterStandsAside(),
        FetchesNameDamage(),
        RepairsAreCommitted(committed),
        SessionEpochNeverFalls(),
        WriteOutcomesAreCorrect(committed),
        BatchPlansAreCorrect(committed),
        LatestIsLinearizable(committed),
        SnapshotsHoldTheState(plan.snapshots, committed),
        LogStartsAtASnapshot(committed),
    ]


def _invariants_of_security(voters: Sequence[NodeId]) -> list[Invariant]:
    """Return what has to hold for each request. They come first: a request that is served wrongly breaks others too."""
    return [
        RefusedRequestsChangeNothing(),
        RecordsOfIntrudersAreNotAppended(),
        RefusalsAreCorrect(),
        ConnectionsEndWithoutProof(),
        AllowedRequestsAreServed(),
        PrincipalsAreProved(),
        RefusedNodesStop(voters),
    ]


def _invariants_of_reads(policy: CleanupPolicy, committed: CommittedLog) -> list[Invariant]:
    """Return what readers can rely on: of a log that is compacted or cut, they do not get every record."""
    if policy is CleanupPolicy.NONE:
        return [
            ReadsAreCommitted(committed),
            ReadOffsetsStayValid(),
            ReadersFollowCommittedLog(committed),
            FoundOffsetsAreCorrect(committed),
            ReadersSeeCommittedTransactions(committed),
            PlannedBatchesHaveTheirRows(committed),
        ]
    of_compacted = [ReadOffsetsStayValid(), MissingRecordsAreReplaced(committed)]
    return [
        CompactedReadsAreCommitted(committed),
        ReadersSeeTheState(policy, committed),
        *(of_compacted if policy is CleanupPolicy.COMPACT else ()),
    ]
