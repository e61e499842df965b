"""The simulator finds known bugs that are planted one at a time; else a run without a failure would prove little."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules

import pytest

from tests.simulation import mutations
from tests.simulation.invariants.clients import WriteOutcomesAreCorrect
from tests.simulation.invariants.commitment import LeadersAreComplete
from tests.simulation.invariants.elections import ElectedByMajority, OneVotePerEpoch
from tests.simulation.invariants.observer import Invariant
from tests.simulation.invariants.reads import ReadsAreCommitted
from tests.simulation.invariants.security import RefusalsAreCorrect, RefusedRequestsChangeNothing
from tests.simulation.invariants.snapshots import CompactedReadsAreCommitted, ReadersSeeTheState
from tests.simulation.invariants.transactions import (
    LastStableOffsetIsCorrect,
    MultipartWritesAreWhole,
    TransactionsAreAtomic,
)
from tests.simulation.invariants.writes import AppendResponsesAreCorrect
from tests.simulation.mutations.catalogue import MUTATIONS
from tests.simulation.mutations.clients import core_serves_records_above_the_high_watermark
from tests.simulation.mutations.commits import append_acknowledged_before_it_is_committed
from tests.simulation.mutations.hunt import HUNTED_SEEDS, hunt
from tests.simulation.mutations.mutation import Mutation
from tests.simulation.mutations.security import rules_not_asked_for_produce
from tests.simulation.mutations.seeds import CATCHING_SEEDS
from tests.simulation.mutations.summary import CAUGHT
from tests.simulation.mutations.table import table_of
from tests.simulation.mutations.uncaught import UNCAUGHT
from tests.simulation.mutations.votes import second_vote_in_an_epoch

_SLOWER_INVARIANTS = (
    pytest.param(
        second_vote_in_an_epoch,
        {OneVotePerEpoch, ElectedByMajority, LeadersAreComplete},
        "OneLeaderPerEpoch",
        id="OneLeaderPerEpoch",
    ),
    pytest.param(
        append_acknowledged_before_it_is_committed,
        {AppendResponsesAreCorrect, WriteOutcomesAreCorrect, MultipartWritesAreWhole, TransactionsAreAtomic},
        "HistoryIsLinearizable",
        id="HistoryIsLinearizable",
    ),
    pytest.param(
        core_serves_records_above_the_high_watermark,
        {ReadsAreCommitted, CompactedReadsAreCommitted, ReadersSeeTheState, LastStableOffsetIsCorrect},
        "ReadersFollowCommittedLog",
        id="ReadersFollowCommittedLog",
    ),
    pytest.param(
        rules_not_asked_for_produce,
        {RefusedRequestsChangeNothing, RefusalsAreCorrect},
        "RecordsOfIntrudersAreNotAppended",
        id="RecordsOfIntrudersAreNotAppended",
    ),
)
"""Invariants that always break after others: what they catch when the others are not checked."""


@pytest.mark.rule("TEST-19")
@pytest.mark.parametrize(
    "mutation", [pytest.param(mutation, id=mutation.name) for mutation in MUTATIONS if mutation.name not in UNCAUGHT]
)
def test_simulator_catches_planted_bug_when_fixed_seeds_are_run(
    mutation: Mutation, record_property: Callable[[str, object], None]
) -> None:
    caught = hunt(mutation, HUNTED_SEEDS)

    assert caught is not None, f"no seed broke an invariant: {mutation.description}"
    record_property(CAUGHT, caught.row)
    assert caught.is_by_expected_invariant, f"caught by an unexpected invariant: {caught.broken}"


@pytest.mark.parametrize(("mutation", "without", "invariant"), _SLOWER_INVARIANTS)
def test_invariant_catches_planted_bug_when_faster_ones_are_not_checked(
    mutation: Mutation, without: set[type[Invariant]], invariant: str
) -> None:
    caught = hunt(mutation, HUNTED_SEEDS, without=without)

    assert caught is not None
    assert caught.broken.invariant == invariant


def test_every_planted_bug_is_in_the_catalogue() -> None:
    modules = [import_module(f"{mutations.__name__}.{module.name}") for module in iter_modules(mutations.__path__)]
    planted = {bug.name for module in modules for bug in vars(module).values() if isinstance(bug, Mutation)}

    assert planted == {mutation.name for mutation in MUTATIONS}


def test_bugs_that_are_not_caught_are_in_the_catalogue_and_have_no_seed() -> None:
    assert {mutation.name for mutation in MUTATIONS} - CATCHING_SEEDS.keys() == UNCAUGHT


def test_every_invariant_has_a_bug_that_it_catches() -> None:
    expected = {name for mutation in MUTATIONS if mutation.name not in UNCAUGHT for name in mutation.caught_by}
    of_slower = {str(case.id) for case in _SLOWER_INVARIANTS}

    idle = {invariant.__name__ for invariant in Invariant.__subclasses__()} - expected - of_slower

    assert not idle


def test_table_names_bug_invariant_and_seed_when_one_is_caught() -> None:
    lines = table_of([("second vote in an epoch", "OneVotePerEpoch", 6)])

    assert lines[0] == "planted bug              caught by        seed"
    assert lines[2] == "second vote in an epoch  OneVotePerEpoch     6"
