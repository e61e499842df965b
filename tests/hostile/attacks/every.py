"""All kinds of attacks."""

from __future__ import annotations

from collections.abc import Mapping

from tests.hostile.attacks.attack import Attack
from tests.hostile.attacks.batches import CraftedBatches
from tests.hostile.attacks.crowds import CrowdThatSpokeOnce, CrowdThatWaits, SilentCrowd, SilentCrowdOfVoters
from tests.hostile.attacks.frames import (
    AnnouncedFrames,
    HalfRequests,
    LargeAppends,
    PartsOfFrames,
    SlowRequests,
    StalledFrames,
    TricklingFrames,
)
from tests.hostile.attacks.lists import LongLists
from tests.hostile.attacks.noise import MutatedRecordings, OtherProtocols, RandomBytes, RepeatedSession
from tests.hostile.attacks.questions import MadeUpObservers, RelayedQuestions
from tests.hostile.attacks.readers import GreedyReaders, TimeSearches
from tests.hostile.attacks.voters import ForgedVoters

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
        SilentCrowd,
        SilentCrowdOfVoters,
        CrowdThatSpokeOnce,
        CrowdThatWaits,
        LongLists,
        GreedyReaders,
        TimeSearches,
        CraftedBatches,
        MadeUpObservers,
        RelayedQuestions,
        ForgedVoters,
        MutatedRecordings,
        RepeatedSession,
        RandomBytes,
        OtherProtocols,
    )
}
"""By their names."""
