"""Bugs of nodes whose log is damaged: how they stand aside, what they serve, and how they repair themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from raft.core import outgoing_requests, repairs, timers, unfit_voters
from raft.core.messages import FetchRequest, FetchResponse
from raft.core.state import State
from raft.runtime.engine import Engine
from raft.storage import repair
from raft.storage.damage import DamagedPart, DamageReport, KnownDamage
from raft.storage.directory import ReplicaDirectory
from raft.storage.segment import Segment
from raft.storage.span_check import SpanCheck
from raft.types import Batch, DamagedRange, NodeId
from tests.simulation.mutations import needs
from tests.simulation.mutations.mutation import mutation


@mutation(breaks=("LOG-30",), caught_by=("DamagedLeaderHandsOver",))
def leader_with_a_damaged_log_leads_on(patch: pytest.MonkeyPatch) -> None:
    """A leader hands over only when its disk is full."""
    reason = unfit_voters.reason_to_resign

    def reason_of_sound(state: State, now_ms: int) -> str | None:
        return None if state.damage.exists else reason(state, now_ms)

    patch.setattr(timers, "reason_to_resign", reason_of_sound)


@mutation(breaks=("LOG-30",), caught_by=("DamagedVoterStandsAside",))
def voter_with_a_damaged_log_stands_at_once(patch: pytest.MonkeyPatch) -> None:
    """A voter leaves rounds to others only when its disk is full."""
    stands_aside = unfit_voters.stands_aside
    patch.setattr(outgoing_requests, "stands_aside", lambda state: not state.damage.exists and stands_aside(state))


@mutation(breaks=("LOG-30",), caught_by=("FetchesNameDamage",))
def replica_does_not_say_that_its_log_is_damaged(patch: pytest.MonkeyPatch) -> None:
    """The leader may hand over to a voter whose log is damaged too."""
    fetch_request = outgoing_requests._fetch_request

    def as_if_sound(state: State) -> FetchRequest:
        return replace(fetch_request(state), is_damaged=False)

    patch.setattr(outgoing_requests, "_fetch_request", as_if_sound)


@mutation(
    breaks=("LOG-30",),
    caught_by=("ReplicasGetSoundRecords", "ReadsAreCommitted", "ReadsFindRecords"),
    needs=needs.flipped_bits,
)
def records_are_served_without_a_check(patch: pytest.MonkeyPatch) -> None:
    """What was read from the disk is sent as it is."""
    patch.setattr(SpanCheck, "feed", lambda _check, _piece: None)
    patch.setattr(SpanCheck, "finish", lambda _check: None)


@mutation(breaks=("LOG-29",), caught_by=("QuorumRecovers",))
def core_is_not_told_of_damage(patch: pytest.MonkeyPatch) -> None:
    """Damage is logged, and nothing more."""

    def log_only(engine: Engine, report: DamageReport) -> None:
        engine._damage_log.report(report)

    patch.setattr(Engine, "_on_damage", log_only)


@mutation(breaks=("LOG-31",), caught_by=("RepairedIsAsWritten",))
def repair_is_not_flushed(patch: pytest.MonkeyPatch) -> None:
    """A power cut may undo a repair that was reported."""

    def overwrite(segment: Segment, position: int, data: bytes) -> None:
        file = segment._files.open(segment._name)
        file.overwrite(position, data)
        file.close()

    patch.setattr(Segment, "overwrite", overwrite)


@mutation(breaks=("LOG-31",), caught_by=("RepairedIsAsWritten",))
def repair_is_reported_and_not_written(patch: pytest.MonkeyPatch) -> None:
    """A range counts as repaired when its records were received."""

    def forget(directory: ReplicaDirectory, batches: Sequence[Batch], _source: NodeId) -> bool:
        part = directory.damage.batches_from(batches[0].header.base_offset)
        directory.damage.discard([] if part is None else [part])
        return True

    patch.setattr(ReplicaDirectory, "repair", forget)


@mutation(
    breaks=("LOG-31",),
    caught_by=("RepairsAreCommitted", "RepairedIsAsWritten", "NoUnexpectedErrors"),
    needs=needs.flipped_bits,
)
def repair_is_written_without_its_check(patch: pytest.MonkeyPatch) -> None:
    """Whatever batches the leader sends are written, also those of a snapshot, which have other bytes."""

    def all_batches(_state: State, _damaged: DamagedRange, response: FetchResponse) -> tuple[Batch, ...]:
        return response.batches

    patch.setattr(repairs, "_begins_later", lambda _response, _damaged: False)
    patch.setattr(repairs, "_fitting", all_batches)
    patch.setattr(repair, "_fits", lambda _part, _size_bytes, _end_offset: True)
    patch.setattr(repair, "_is_sound", lambda *_arguments: True)


@mutation(breaks=("LOG-31",), caught_by=("QuorumRecovers",))
def repair_asks_for_more_than_the_range(patch: pytest.MonkeyPatch) -> None:
    """All batches of the response are ordered to disk, also those behind the damage: they do not fit its place."""

    def all_batches(_state: State, _damaged: DamagedRange, response: FetchResponse) -> tuple[Batch, ...]:
        return response.batches

    patch.setattr(repairs, "_fitting", all_batches)


@mutation(breaks=("LOG-31",), caught_by=("QuorumRecovers",))
def repaired_range_still_counts_as_damaged(patch: pytest.MonkeyPatch) -> None:
    """What was repaired is not removed from the list of damaged ranges, and no later check removes it."""
    discard = KnownDamage.discard

    def discard_removed(known: KnownDamage, parts: Sequence[DamagedPart]) -> None:
        if not any(part in known.parts for part in parts):
            discard(known, parts)

    patch.setattr(KnownDamage, "discard", discard_removed)
