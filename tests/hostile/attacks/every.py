"""All kinds of attacks."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.attacks.attack import Attack
from tests.hostile.attacks.batches import CraftedBatches
from tests.hostile.attacks.clients import (
    ClientsAsVoters,
    ExpiredSessions,
    ForbiddenRequests,
    ManyNames,
    OtherNames,
    ProofsInSeries,
)
from tests.hostile.attacks.connections import IdleConnections, SilentConnections, SilentVoterConnections, WaitingFetches
from tests.hostile.attacks.frames import (
    AnnouncedFrames,
    HalfRequests,
    LargeAppends,
    PartsOfFrames,
    SlowRequests,
    StalledFrames,
    TricklingFrames,
)
from tests.hostile.attacks.handshakes import (
    EndlessHellos,
    FullHandshakes,
    HalfHandshakes,
    HandshakesOfVoters,
    HugeHellos,
    PlaintextRequests,
    RandomRecords,
    RepeatedHellos,
    SlowHandshakes,
)
from tests.hostile.attacks.lists import LongLists
from tests.hostile.attacks.nameless import (
    EveryRequestFirst,
    FullFramesFirst,
    LargeFramesFirst,
    ManyRequestsFirst,
    SlowRequestsFirst,
    TinyRecords,
    UnknownMechanisms,
)
from tests.hostile.attacks.noise import MutatedRecordings, OtherProtocols, RandomBytes, RepeatedSession
from tests.hostile.attacks.observers import ObserverFetches, ObserverSnapshots
from tests.hostile.attacks.proofs import DamagedProofs, ReplayedProofs, WrongProofs
from tests.hostile.attacks.readers import SmallUnreadFetches, TimeSearches, UnreadFetches, UnreadObserverFetches
from tests.hostile.attacks.reads import AbsurdPlans, LinearizableReads
from tests.hostile.attacks.scrapes import EndlessScrapes, ManyScrapes, SlowScrapes
from tests.hostile.attacks.small_requests import Floods, RelayedRequests, UnknownObservers, UnreadFloods
from tests.hostile.attacks.snapshots import AbsurdSnapshots, SnapshotDownloads, UnreadSnapshots
from tests.hostile.attacks.transactions import (
    AbortedTransactions,
    AbsurdTransactionalIds,
    ForgedControlRecords,
    Listings,
    NewTransactionalIds,
    OpenTransactions,
    WrongEpochs,
)
from tests.hostile.attacks.voters import ForgedVoters
from tests.hostile.identity import Identity

ATTACKS: Mapping[str, type[Attack]] = {
    attack.__name__: attack
    for attack in (
        AnnouncedFrames,
        StalledFrames,
        PartsOfFrames,
        TricklingFrames,
        SlowRequests,
        HalfRequests,
        LargeAppends,
        SilentConnections,
        SilentVoterConnections,
        IdleConnections,
        WaitingFetches,
        LongLists,
        UnreadFetches,
        SmallUnreadFetches,
        UnreadObserverFetches,
        TimeSearches,
        CraftedBatches,
        Floods,
        UnreadFloods,
        UnknownObservers,
        RelayedRequests,
        SnapshotDownloads,
        UnreadSnapshots,
        AbsurdSnapshots,
        ForgedVoters,
        AbsurdTransactionalIds,
        NewTransactionalIds,
        WrongEpochs,
        OpenTransactions,
        AbortedTransactions,
        ForgedControlRecords,
        Listings,
        LinearizableReads,
        AbsurdPlans,
        MutatedRecordings,
        RepeatedSession,
        RandomBytes,
        OtherProtocols,
        ManyScrapes,
        SlowScrapes,
        EndlessScrapes,
    )
}
"""The attacks of every neighbour, by their names."""

STRANGERS_ATTACKS: Mapping[str, type[Attack]] = {
    attack.__name__: attack
    for attack in (
        HalfHandshakes,
        RepeatedHellos,
        FullHandshakes,
        HandshakesOfVoters,
        EndlessHellos,
        HugeHellos,
        SlowHandshakes,
        PlaintextRequests,
        RandomRecords,
        LargeFramesFirst,
        FullFramesFirst,
        TinyRecords,
        ManyRequestsFirst,
        SlowRequestsFirst,
        UnknownMechanisms,
        EveryRequestFirst,
        WrongProofs,
        ReplayedProofs,
        DamagedProofs,
    )
}
"""Those of a neighbour without credentials, before it has proved its name."""

CLIENTS_ATTACKS: Mapping[str, type[Attack]] = {
    attack.__name__: attack
    for attack in (ClientsAsVoters, ManyNames, ForbiddenRequests, ExpiredSessions, ProofsInSeries, OtherNames)
}
"""Those of a neighbour with credentials."""


OBSERVERS_ATTACKS: Mapping[str, type[Attack]] = {
    attack.__name__: attack for attack in (ObserverFetches, ObserverSnapshots)
}
"""Those of a neighbour that may speak as an observer."""


def attacks_of(identity: Identity) -> Mapping[str, type[Attack]]:
    """Return the attacks of a neighbour."""
    match identity:
        case Identity.ANYONE:
            return ATTACKS
        case Identity.STRANGER:
            return {**ATTACKS, **STRANGERS_ATTACKS}
        case Identity.CLIENT:
            return {**ATTACKS, **CLIENTS_ATTACKS}
        case Identity.OBSERVER:
            return {**ATTACKS, **CLIENTS_ATTACKS, **OBSERVERS_ATTACKS}
